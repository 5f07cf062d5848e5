//! What a user writes: directions, decimals and the command line.

use std::fs;

use linkem::cli::{self, Command};
use linkem::decimal;
use linkem::direction::Direction;
use linkem::error::Error;
use linkem::loss::LossSpec;
use linkem::queue::QueueSpec;
use linkem::rate::RateSpec;

#[test]
fn a_full_direction_is_read_exactly() {
    let spec = "rate_mbps=1.6,delay_ms=12.000001,jitter_ms=.5,queue=codel:30000,loss=0.01,seed=42";
    let direction = Direction::parse(spec).unwrap();
    assert_eq!(direction.rate, RateSpec::Constant { bps: 1_600_000 });
    assert_eq!((direction.delay, direction.jitter), (12_000_001, 500_000));
    assert_eq!(direction.queue, QueueSpec::Codel { limit: 30_000 });
    assert_eq!(direction.loss, LossSpec::Independent(0.01));
    assert_eq!(direction.seed, 42);
}

#[test]
fn what_is_left_out_is_off() {
    let canonical = "rate_mbps=0,delay_ms=0,jitter_ms=0,queue=unlimited,loss=0,seed=1";
    for spec in ["rate_mbps=0", "delay_ms=0.0", "loss=0", "loss=-0", canonical] {
        assert_eq!(Direction::parse(spec).unwrap().to_string(), canonical);
    }
}

#[test]
fn the_canonical_form_reads_back_as_itself() {
    let specs = [
        "rate_mbps=007.50,queue=droptail:45000,delay_ms=33.333333",
        "rate_mbps=100000,loss=1,delay_ms=60000",
        "rate_mbps=0.000001,loss=1e-05,queue=unlimited",
        "loss_ge=0.1:0.5,seed=18446744073709551615",
        "loss_ge=0.1:0.5:0.25:0.999",
    ];
    for spec in specs {
        let direction = Direction::parse(spec).unwrap();
        let canonical = direction.to_string();
        assert_eq!(Direction::parse(&canonical).unwrap(), direction);
        assert_eq!(Direction::parse(&canonical).unwrap().to_string(), canonical);
    }
}

#[test]
fn nonsense_is_refused_with_its_key_and_the_reason() {
    let cases = [
        ("", "empty description; an unshaped direction is 'rate_mbps=0'"),
        ("rate_mbps", "'rate_mbps' is not key=value"),
        ("rate_mbps=1,", "'' is not key=value"),
        (
            "speed=3",
            "speed: unknown key; known are rate_mbps, trace, steps, delay_ms, jitter_ms, \
                     queue, loss, loss_ge, seed",
        ),
        ("delay_ms=1,delay_ms=1", "delay_ms: given twice"),
        ("rate_mbps=1,trace=x", "trace: cannot be combined with rate_mbps"),
        ("loss=0.1,loss_ge=0.1:0.1", "loss_ge: cannot be combined with loss"),
        ("rate_mbps=-1", "rate_mbps: '-1' is negative"),
        ("rate_mbps=nan", "rate_mbps: 'nan' is not a plain decimal number"),
        ("rate_mbps=1.5Mbps", "rate_mbps: '1.5Mbps' is not a plain decimal number"),
        ("rate_mbps=1e3", "rate_mbps: '1e3' is not a plain decimal number"),
        ("rate_mbps=.", "rate_mbps: '.' is not a plain decimal number"),
        ("rate_mbps=0.0000001", "rate_mbps: '0.0000001' has more than 6 decimals"),
        ("rate_mbps=100000.000001", "rate_mbps: '100000.000001' is over 100000 Mbit/s"),
        ("delay_ms=-1", "delay_ms: '-1' is negative"),
        ("delay_ms=inf", "delay_ms: 'inf' is not a plain decimal number"),
        ("delay_ms=60000.1", "delay_ms: '60000.1' is over 60000 ms"),
        ("jitter_ms=x", "jitter_ms: 'x' is not a plain decimal number"),
        ("queue=droptail:1499", "queue: 1499 bytes cannot hold one packet of 1500 bytes"),
        ("queue=codel:0", "queue: 0 bytes cannot hold one packet of 1500 bytes"),
        ("queue=droptail", "queue: '' is not a number of bytes; want droptail:BYTES"),
        ("queue=codel:1e6", "queue: '1e6' is not a number of bytes; want codel:BYTES"),
        ("queue=red:5000", "queue: 'red:5000' is none of droptail:BYTES, codel:BYTES, unlimited"),
        ("loss=1.01", "loss: '1.01' is not a fraction from 0 to 1"),
        ("loss=-0.1", "loss: '-0.1' is not a fraction from 0 to 1"),
        ("loss=NaN", "loss: 'NaN' is not a fraction from 0 to 1"),
        ("loss=5%", "loss: '5%' is not a fraction from 0 to 1"),
        ("loss_ge=0.1", "loss_ge: '0.1' is neither P:R nor P:R:H:K"),
        ("loss_ge=0.1:0.2:0.3", "loss_ge: '0.1:0.2:0.3' is neither P:R nor P:R:H:K"),
        ("loss_ge=0.1:2", "loss_ge: '2' is not a fraction from 0 to 1"),
        ("loss_ge=0.1:0", "loss_ge: R is 0, so the bad state would never end"),
        ("seed=-1", "seed: '-1' is not a whole number >= 0"),
        ("seed=1.0", "seed: '1.0' is not a whole number >= 0"),
    ];
    for (spec, error) in cases {
        assert_eq!(Direction::parse(spec).unwrap_err(), error, "for '{spec}'");
    }
}

#[test]
fn files_are_read_and_their_errors_name_file_and_line() {
    let folder = std::env::temp_dir().join(format!("linkem-parsing-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, text: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let good = file("good", b"1\r\n2\r\n");
    let canonical = Direction::parse(&format!("trace={good}")).unwrap().to_string();
    assert!(canonical.starts_with(&format!("trace={good},delay_ms=0,")));
    assert!(Direction::parse(&format!("steps={}", file("steps", b"0 1\n10 2.5\n"))).is_ok());

    let binary = file("binary", b"1\n\xff\xfe\n");
    let error = Direction::parse(&format!("trace={binary}")).unwrap_err();
    assert!(error.starts_with(&format!("trace: {binary}: line 2: ")), "{error}");
    let error = Direction::parse("steps=/does/not/exist").unwrap_err();
    assert!(error.starts_with("steps: cannot read '/does/not/exist': No such file"), "{error}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn decimals_are_exact() {
    assert_eq!(decimal::parse("0.1", 6), Ok(100_000));
    assert_eq!(decimal::parse("1.1000000000000", 6), Ok(1_100_000));
    assert_eq!(decimal::parse("18446744073709551615", 0), Ok(u64::MAX));
    assert!(decimal::parse("18446744073709551616", 0).is_err());
    for units in [0, 1, 999_999, 1_000_000, 1_500_000, u64::MAX] {
        assert_eq!(decimal::parse(&decimal::format(units, 6), 6), Ok(units));
    }
}

fn command(line: &str) -> Result<Command, Error> {
    cli::parse(&line.split(' ').map(String::from).collect::<Vec<_>>())
}

fn refusal(line: &str) -> String {
    let error = command(line).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    error.to_string()
}

const HOSTS: &str = "--client-ns a --server-ns b --device lk0 --down rate_mbps=1 --up rate_mbps=2";

#[test]
fn both_backends_are_understood() {
    assert!(matches!(command(&format!("--backend tun {HOSTS}")), Ok(Command::Run(_))));
    let middle = "--middle-ns m --client-peer c --server-peer s --survive-parent --snaplen 96";
    match command(&format!("--backend veth {HOSTS} {middle} --pcap x --times y")) {
        Ok(Command::Run(options)) => {
            assert!(options.survive_parent);
            assert_eq!((options.snaplen, options.pcap.as_deref()), (96, Some("x")));
            assert_eq!(options.times.as_deref(), Some("y"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_client_may_have_a_link_to_itself() {
    let hosts =
        HOSTS.replace("_mbps=1", "_mbps=1,queue=droptail:3000").replace("_mbps=2", "_mbps=0");
    let shared = "--per-client --first-client 10.64.1.0 --shared-up rate_mbps=9";
    match command(&format!("--backend tun {hosts} {shared}")) {
        Ok(Command::Run(options)) => {
            let per_client = options.per_client.unwrap();
            assert_eq!(per_client.first, [10, 64, 1, 0]);
            assert_eq!(per_client.shared_down, None);
            assert_eq!(per_client.shared_up, Direction::parse("rate_mbps=9").ok());
        }
        other => panic!("{other:?}"),
    }
    let endless = format!("--backend tun {HOSTS} --per-client");
    let mend = "give queue=droptail:BYTES or codel:BYTES; see linkem --help";
    assert_eq!(refusal(&endless), format!("--down: --per-client with an unlimited queue; {mend}"));
}

#[test]
fn a_wrong_command_line_is_refused_by_name() {
    let cases = [
        (HOSTS.to_string(), "--backend is missing"),
        (format!("--backend tap {HOSTS}"), "--backend 'tap' is neither tun nor veth"),
        (format!("--backend veth {HOSTS}"), "--middle-ns is missing"),
        (format!("--backend tun {HOSTS} --middle-ns m"), "--middle-ns has no meaning for tun"),
        (format!("--backend tun {HOSTS} --device x"), "--device given twice"),
        (format!("--backend tun {HOSTS} --delay 5"), "unknown argument '--delay'"),
        (format!("--backend tun {HOSTS} --pcap"), "--pcap needs a value"),
        (
            format!("--backend tun {HOSTS} --shared-down rate_mbps=1"),
            "--shared-down needs --per-client",
        ),
        (
            format!("--backend tun {HOSTS} --first-client 10.64.0.0"),
            "--first-client needs --per-client",
        ),
        (
            format!("--backend tun {HOSTS} --per-client --first-client 10.64.0"),
            "--first-client '10.64.0' is no IPv4 address",
        ),
        (format!("--backend tun {HOSTS} --snaplen 0"), "--snaplen '0' is not from 1 to 65535"),
        (
            "--backend tun --client-ns a --server-ns b --device a/b".to_string(),
            "--device 'a/b' is not an interface name",
        ),
        (
            "--backend tun --client-ns a --server-ns b --device sixteen-letters0".to_string(),
            "--device 'sixteen-letters0' is not an interface name",
        ),
        (
            format!("--backend tun {HOSTS} --distances 10.0.0.1"),
            "--distances: '10.0.0.1' is not ADDRESS=MS",
        ),
        (
            format!("--backend tun {HOSTS} --per-client --distances 10.0.0.1=5"),
            "--distances cannot be combined with --per-client",
        ),
        ("check".to_string(), "check takes one SPEC"),
        (String::new(), "unknown argument ''"),
    ];
    for (line, error) in cases {
        assert_eq!(refusal(&line), format!("{error}; see linkem --help"), "for '{line}'");
    }
}
