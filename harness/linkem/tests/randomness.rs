//! The generator gives the published numbers, and loss has the statistics it claims.

use linkem::loss::{GilbertElliott, Loss, LossSpec};
use linkem::random::{Random, SplitMix64};

#[test]
fn splitmix64_gives_its_reference_output() {
    let mut generator = SplitMix64(1_234_567);
    let drawn: Vec<u64> = (0..3).map(|_| generator.draw()).collect();
    assert_eq!(drawn, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
}

#[test]
fn xoshiro256_gives_its_reference_output() {
    let mut generator = Random::from_state([1, 2, 3, 4]);
    let drawn: Vec<u64> = (0..4).map(|_| generator.draw()).collect();
    assert_eq!(drawn, [11520, 0, 1509978240, 1215971899390074240]);
}

#[test]
fn chances_of_nought_and_one_are_certain() {
    let mut random = Random::new(1, 0);
    assert!((0..10_000).all(|_| !random.happens(0.0)));
    assert!((0..10_000).all(|_| random.happens(1.0)));
}

#[test]
fn up_to_reaches_both_ends_and_goes_no_further() {
    let mut random = Random::new(1, 0);
    let drawn: Vec<u64> = (0..1000).map(|_| random.up_to(3)).collect();
    assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&0), Some(&3)));
}

fn fates(spec: LossSpec, seed: u64, packets: usize) -> Vec<bool> {
    let mut loss = Loss::new(spec, Random::new(seed, 0));
    (0..packets).map(|_| loss.takes()).collect()
}

#[test]
fn independent_loss_lies_within_its_binomial_interval() {
    for (seed, chance) in [(1, 0.001), (2, 0.01), (3, 0.05), (4, 0.5)] {
        let n = 200_000;
        let lost =
            fates(LossSpec::Independent(chance), seed, n).iter().filter(|lost| **lost).count();
        let sigma = (n as f64 * chance * (1.0 - chance)).sqrt();
        let error = lost as f64 - n as f64 * chance;
        assert!(error.abs() < 4.0 * sigma, "{lost} of {n} lost at {chance}");
    }
}

#[test]
fn short_trials_of_many_seeds_lose_what_one_long_trial_does() {
    let lost: usize = (0..500)
        .map(|seed| fates(LossSpec::Independent(0.05), seed, 400).iter().filter(|l| **l).count())
        .sum();
    // 200000 packets at 5 %: 10000 with a standard deviation of 97.5; four of them.
    assert!(lost.abs_diff(10_000) < 390, "{lost} lost");
}

#[test]
fn the_same_seed_loses_the_same_packets() {
    let spec = LossSpec::Independent(0.1);
    assert_eq!(fates(spec.clone(), 7, 1000), fates(spec.clone(), 7, 1000));
    assert_ne!(fates(spec.clone(), 7, 1000), fates(spec, 8, 1000));
}

#[test]
fn bursty_loss_has_the_stationary_rate_and_the_burst_length_of_the_model() {
    let chain = GilbertElliott { p: 0.01, r: 0.25, h: 0.0, k: 1.0 };
    let fates = fates(LossSpec::Bursty(chain), 5, 1_000_000);
    let lost = fates.iter().filter(|lost| **lost).count() as f64;
    let bursts = fates.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
    // p/(p+r) = 3.846 %; a burst lasts 1/r = 4 packets. About 9600 bursts, each length with a
    // standard deviation of 3.5, put the mean within 0.15 and the rate within 4 %.
    assert!((lost / 1e6 / (0.01 / 0.26) - 1.0).abs() < 0.04, "{lost} lost");
    assert!((lost / bursts - 4.0).abs() < 0.15, "bursts of {}", lost / bursts);
}

#[test]
fn h_and_k_are_chances_of_getting_through() {
    let chain = GilbertElliott { p: 0.02, r: 0.1, h: 0.5, k: 0.99 };
    let lost = fates(LossSpec::Bursty(chain), 6, 1_000_000).iter().filter(|lost| **lost).count();
    // (r(1-k) + p(1-h)) / (p+r)
    let expected = (0.1 * 0.01 + 0.02 * 0.5) / 0.12;
    assert!((lost as f64 / 1e6 / expected - 1.0).abs() < 0.05, "{lost} lost");
}

#[test]
fn bursty_loss_starts_in_its_stationary_state() {
    let chain = GilbertElliott { p: 0.001, r: 0.001, h: 0.0, k: 1.0 };
    let lost = (0..1000).filter(|seed| fates(LossSpec::Bursty(chain), *seed, 1)[0]).count();
    assert!((430..570).contains(&lost), "{lost} of 1000 first packets lost");
}
