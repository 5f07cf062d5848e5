//! Exact decimal numbers, so that `rate_mbps=0.1` is 100000 bit/s and not 99999.

/// Parses a plain decimal such as `12.5` into whole units of 10^-`places`, without rounding.
///
/// Signs, exponents, `nan` and `inf` are refused, and so are digits finer than one unit.
pub fn parse(text: &str, places: usize) -> Result<u64, String> {
    if text.starts_with('-') {
        return Err(format!("'{text}' is negative"));
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return Err(format!("'{text}' is not a plain decimal number"));
    }
    let fraction = fraction.trim_end_matches('0');
    if places == 0 && !fraction.is_empty() {
        return Err(format!("'{text}' is not a whole number"));
    }
    if fraction.len() > places {
        return Err(format!("'{text}' has more than {places} decimals"));
    }
    format!("{whole}{fraction:0<places$}").parse().map_err(|_| format!("'{text}' is too large"))
}

/// The shortest text that `parse` reads back as `units`.
pub fn format(units: u64, places: usize) -> String {
    let digits = format!("{units:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    match fraction.trim_end_matches('0') {
        "" => whole.to_string(),
        fraction => format!("{whole}.{fraction}"),
    }
}
