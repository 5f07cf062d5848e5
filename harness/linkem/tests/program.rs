//! The program from outside: what it prints and how it exits. No privileges needed.

use std::process::{Command, Output};

fn linkem(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_linkem")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn assert_one_line_error(output: &Output, code: i32, start: &str) {
    let error = std::str::from_utf8(&output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{error}");
    assert!(error.starts_with(start), "{error}");
    assert_eq!((error.matches('\n').count(), stdout(output)), (1, ""));
}

#[test]
fn version_and_help_are_printed() {
    let version = linkem(&["--version"]);
    let sources = option_env!("LINKEM_SOURCES").unwrap_or("unknown");
    assert_eq!(stdout(&version), format!("linkem {} (sources {sources})\n", env!("CARGO_PKG_VERSION")));
    assert!(stdout(&linkem(&["--help"])).contains("linkem check SPEC"));
}

#[test]
fn check_prints_the_canonical_form() {
    let output = linkem(&["check", "queue=droptail:15000,delay_ms=10.50,rate_mbps=2"]);
    let canonical = "rate_mbps=2,delay_ms=10.5,jitter_ms=0,queue=droptail:15000,loss=0,seed=1\n";
    assert_eq!(stdout(&output), canonical);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn nonsense_exits_2_with_one_line() {
    assert_one_line_error(
        &linkem(&["check", "rate_mbps=fast"]),
        2,
        "linkem: check 'rate_mbps=fast': rate_mbps: 'fast' is not a plain decimal number",
    );
    assert_one_line_error(&linkem(&[]), 2, "linkem: --backend is missing");
}

#[test]
fn a_missing_namespace_exits_3_with_one_line() {
    let arguments = "--backend tun --client-ns /does/not/exist --server-ns /does/not/exist \
                     --device lk0 --down delay_ms=1 --up delay_ms=1";
    assert_one_line_error(
        &linkem(&arguments.split_whitespace().collect::<Vec<_>>()),
        3,
        "linkem: open namespace '/does/not/exist': No such file",
    );
}
