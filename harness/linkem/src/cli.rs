//! The command line, parsed once.

use std::net::Ipv4Addr;

use crate::direction::Direction;
use crate::distances::{parse_distances, Distances};
use crate::error::{Error, Result};
use crate::interface::MAX_NAME;
use crate::queue::QueueSpec;
use crate::rate::RateSpec;
use crate::way::Address;

pub const USAGE: &str = "\
linkem --backend tun  --client-ns PATH --server-ns PATH --device NAME --down SPEC --up SPEC
linkem --backend veth --client-ns PATH --server-ns PATH --middle-ns PATH --device NAME
       --client-peer NAME --server-peer NAME --down SPEC --up SPEC
       [--pcap FILE] [--snaplen BYTES] [--times FILE] [--survive-parent]
       [--per-client [--first-client ADDRESS] [--shared-down SPEC] [--shared-up SPEC]]
       [--distances ADDRESS=MS,...]
linkem check SPEC
linkem --version | --help

SPEC is key=value,... of: rate_mbps=R | trace=FILE | steps=FILE; delay_ms=D; jitter_ms=J;
     queue=droptail:BYTES|codel:BYTES|unlimited; loss=F | loss_ge=P:R:H:K; seed=N
--distances: each way to or from a server of that address takes MS longer than the link, beyond it
--first-client: what a client loses depends on its number from that address on
SIGUSR1 prints the counts so far, SIGUSR2 when the link was busy;
SIGALRM makes its moment time zero of traces and step lists;
SIGTERM and SIGINT print the counts and end the link.";

/// What a whole packet needs, and the default of --snaplen.
const MAX_SNAPLEN: usize = 65535;

/// What to do.
#[derive(Debug, PartialEq)]
pub enum Command {
    Run(Box<Options>),
    Check(String),
    Version,
    Help,
}

/// How the hosts are attached.
#[derive(Debug, PartialEq, Eq)]
pub enum Backend {
    Tun,
    Veth { middle_ns: String, client_peer: String, server_peer: String },
}

impl Backend {
    pub fn name(&self) -> &'static str {
        match self {
            Backend::Tun => "tun",
            Backend::Veth { .. } => "veth",
        }
    }
}

/// Each client address has a link to itself, as `down` and `up` say; all may share another one. Clients are counted
/// from the address `first` on, for their random numbers.
#[derive(Debug, PartialEq)]
pub struct PerClient {
    pub first: Address,
    pub shared_down: Option<Direction>,
    pub shared_up: Option<Direction>,
}

/// Everything about one link.
#[derive(Debug, PartialEq)]
pub struct Options {
    pub backend: Backend,
    pub client_ns: String,
    pub server_ns: String,
    pub device: String,
    pub down: Direction,
    pub up: Direction,
    pub per_client: Option<PerClient>,
    pub distances: Distances,
    pub pcap: Option<String>,
    pub times: Option<String>,
    pub snaplen: usize,
    pub survive_parent: bool,
}

/// Parses the arguments after the program's name.
pub fn parse(arguments: &[String]) -> Result<Command> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["--version"] => Ok(Command::Version),
        ["--help"] | ["-h"] => Ok(Command::Help),
        ["check", spec] => Ok(Command::Check(spec.to_string())),
        ["check", ..] => Err(usage("check takes one SPEC")),
        _ => parse_run(&words).map(|options| Command::Run(Box::new(options))),
    }
}

/// Parses the SPEC of `--down`, `--up` or `check`.
pub fn parse_direction(option: &str, spec: &str) -> Result<Direction> {
    Direction::parse(spec).map_err(|error| usage(&format!("{option} '{spec}': {error}")))
}

fn parse_run(words: &[&str]) -> Result<Options> {
    let mut given = Given::read(words)?;
    let backend = match given.need("--backend")?.as_str() {
        "tun" => Backend::Tun,
        "veth" => Backend::Veth {
            middle_ns: given.need("--middle-ns")?,
            client_peer: given.need_name("--client-peer")?,
            server_peer: given.need_name("--server-peer")?,
        },
        other => return Err(usage(&format!("--backend '{other}' is neither tun nor veth"))),
    };
    let options = Options {
        backend,
        client_ns: given.need("--client-ns")?,
        server_ns: given.need("--server-ns")?,
        device: given.need_name("--device")?,
        down: parse_direction("--down", &given.need("--down")?)?,
        up: parse_direction("--up", &given.need("--up")?)?,
        snaplen: given.take("--snaplen").map_or(Ok(MAX_SNAPLEN), |text| parse_snaplen(&text))?,
        pcap: given.take("--pcap"),
        times: given.take("--times"),
        survive_parent: given.take("--survive-parent").is_some(),
        per_client: parse_per_client(&mut given)?,
        distances: given.take("--distances").map_or(Ok(Distances::new()), |text| {
            parse_distances(&text).map_err(|error| usage(&format!("--distances: {error}")))
        })?,
    };
    if options.per_client.is_some() {
        if !options.distances.is_empty() {
            return Err(usage("--distances cannot be combined with --per-client"));
        }
        refuse_endless_queue("--down", &options.down)?;
        refuse_endless_queue("--up", &options.up)?;
    }
    given.refuse_rest(options.backend.name())?;
    Ok(options)
}

fn parse_per_client(given: &mut Given) -> Result<Option<PerClient>> {
    let asked = given.take("--per-client").is_some();
    let mut of_clients = |name: &str| match given.take(name) {
        Some(_) if !asked => Err(usage(&format!("{name} needs --per-client"))),
        value => Ok(value),
    };
    let first = of_clients("--first-client")?;
    let mut shared =
        |name: &str| of_clients(name)?.map(|spec| parse_direction(name, &spec)).transpose();
    let (shared_down, shared_up) = (shared("--shared-down")?, shared("--shared-up")?);
    let first = first.map_or(Ok([0; 4]), |text| parse_address(&text))?;
    Ok(asked.then(|| PerClient { first, shared_down, shared_up }))
}

fn parse_address(text: &str) -> Result<Address> {
    let address: std::result::Result<Ipv4Addr, _> = text.parse();
    address
        .map(|address| address.octets())
        .map_err(|_| usage(&format!("--first-client '{text}' is no IPv4 address")))
}

/// What one queue may hold in memory, thousands may not.
fn refuse_endless_queue(option: &str, direction: &Direction) -> Result<()> {
    let endless = direction.queue == QueueSpec::Unlimited && direction.rate != RateSpec::Unlimited;
    if endless {
        let mend = "give queue=droptail:BYTES or codel:BYTES";
        return Err(usage(&format!("{option}: --per-client with an unlimited queue; {mend}")));
    }
    Ok(())
}

fn parse_snaplen(text: &str) -> Result<usize> {
    match text.parse() {
        Ok(bytes) if (1..=MAX_SNAPLEN).contains(&bytes) => Ok(bytes),
        _ => Err(usage(&format!("--snaplen '{text}' is not from 1 to {MAX_SNAPLEN}"))),
    }
}

/// Options as given, until each is taken.
struct Given(Vec<(String, String)>);

impl Given {
    fn read(words: &[&str]) -> Result<Given> {
        const KNOWN: [&str; 16] = [
            "--backend",
            "--client-ns",
            "--server-ns",
            "--middle-ns",
            "--device",
            "--client-peer",
            "--server-peer",
            "--down",
            "--up",
            "--pcap",
            "--snaplen",
            "--times",
            "--first-client",
            "--shared-down",
            "--shared-up",
            "--distances",
        ];
        let mut given = Given(Vec::new());
        let mut rest = words.iter();
        while let Some(&name) = rest.next() {
            let value = match name {
                "--survive-parent" | "--per-client" => "",
                _ if !KNOWN.contains(&name) => {
                    return Err(usage(&format!("unknown argument '{name}'")));
                }
                _ => rest.next().ok_or_else(|| usage(&format!("{name} needs a value")))?,
            };
            if given.0.iter().any(|(other, _)| other == name) {
                return Err(usage(&format!("{name} given twice")));
            }
            given.0.push((name.to_string(), value.to_string()));
        }
        Ok(given)
    }

    fn take(&mut self, name: &str) -> Option<String> {
        let index = self.0.iter().position(|(other, _)| other == name)?;
        Some(self.0.remove(index).1)
    }

    fn need(&mut self, name: &str) -> Result<String> {
        self.take(name).ok_or_else(|| usage(&format!("{name} is missing")))
    }

    fn need_name(&mut self, name: &str) -> Result<String> {
        let value = self.need(name)?;
        let odd = |character: char| character.is_whitespace() || "/:%".contains(character);
        if value.is_empty() || value.len() > MAX_NAME || value.contains(odd) {
            return Err(usage(&format!("{name} '{value}' is not an interface name")));
        }
        Ok(value)
    }

    fn refuse_rest(&self, backend: &str) -> Result<()> {
        match self.0.first() {
            Some((name, _)) => Err(usage(&format!("{name} has no meaning for {backend}"))),
            None => Ok(()),
        }
    }
}

fn usage(text: &str) -> Error {
    Error::Usage(format!("{text}; see linkem --help"))
}
