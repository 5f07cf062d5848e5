//! The `linkem` program. README.md documents its command line and its output.

use std::env;
use std::io::Write;
use std::process::exit;

use linkem::cli::{self, Command, Options};
use linkem::emulator::Emulator;
use linkem::error::{Error, Result};
use linkem::events::Events;
use linkem::json::Object;
use linkem::pcap::Capture;
use linkem::records::Records;
use linkem::schedule::{self, Scheduling};
use linkem::times::Times;
use linkem::{device, process, MTU, SOURCES, VERSION};

fn main() {
    if let Err(error) = obey() {
        eprintln!("linkem: {error}");
        exit(error.exit_code());
    }
}

fn obey() -> Result<()> {
    let arguments: Vec<String> = env::args_os()
        .skip(1)
        .map(|argument| argument.into_string())
        .collect::<std::result::Result<_, _>>()
        .map_err(|argument| Error::Usage(format!("{argument:?} is not valid UTF-8")))?;
    match cli::parse(&arguments)? {
        Command::Run(options) => run(&options),
        Command::Check(spec) => {
            say(&cli::parse_direction("check", &spec)?.to_string());
            Ok(())
        }
        Command::Version => {
            say(&format!("linkem {VERSION} (sources {SOURCES})"));
            Ok(())
        }
        Command::Help => {
            say(cli::USAGE);
            Ok(())
        }
    }
}

fn run(options: &Options) -> Result<()> {
    if !options.survive_parent {
        process::die_with_parent();
    }
    let events = Events::new()?;
    let ends = device::open(options)?;
    let capture = match &options.pcap {
        Some(file) => Some(Capture::create(file, options.snaplen)?),
        None => None,
    };
    let times = match &options.times {
        Some(file) => Some(Times::create(file)?),
        None => None,
    };
    let records = Records { capture, times };
    // After the threads of the files were started: only the link itself deserves the better scheduling.
    let scheduling = schedule::take_best();
    let mut emulator = Emulator::new(ends, options, records, events)?;
    let ready = ready(options, scheduling).text("arrivals", emulator.arrivals());
    say(&ready.number("epoch_ns", emulator.epoch()).finish());
    emulator.run(|report| say(&report.finish()))
}

fn ready(options: &Options, scheduling: Scheduling) -> Object {
    Object::event("ready")
        .text("backend", options.backend.name())
        .text("scheduling", scheduling.name())
        .text("device", &options.device)
        .number("mtu", MTU)
        .text("version", VERSION)
}

/// One line to the caller. A caller who has stopped reading is no reason to stop the link.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
