//! A ZooKeeper server for development and tests, as a program.

use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use zkrecipes_embedded::{Builder, Server};

const HELP: &str = "\
A ZooKeeper server for development and tests. It keeps everything in memory and forgets it when it stops:
do not use it in production.

Usage: zkrecipes-server [OPTIONS]

  --port N             port to listen on; 0 takes a free one (default 2181)
  --host ADDRESS       address to listen on (default 127.0.0.1)
  --allow-remote       let other machines connect, if the address is one that they can reach: there is neither TLS nor
                       a quota, and whoever connects may do what the access lists allow
  --connections N      so many at a time, further ones are closed at once (default 10000)
  --data-limit BYTES   frames of this size or more are refused (default 1048576)
  --tick MS            unit of time; sessions expire up to one tick late (default 2000)
  --min-timeout MS     shortest session timeout (default 2 ticks)
  --max-timeout MS     longest session timeout (default 20 ticks)
  --emulate VERSION    release to behave like: 3.8, 3.9 or a patch release (default 3.9); or another server that speaks
                       the protocol: clickhouse-keeper, clickhouse-keeper-25.8, raftkeeper
  --super DIGEST       who may do everything, as user:base64(sha1(user:password))
  --extended-types     allow nodes with a time to live
  --reap-every MS      how often containers and nodes with a time to live are looked through (default 60000)
  --read-only          serve reads only
  --keep FILE          start from what FILE holds, and leave nodes and sessions there when ended by a signal;
                       a crash still loses everything. Only its owner may read it
  --quiet              no log on standard error
  --help               this text
  --version            the version

The first line on standard output is \"listening on ADDRESS:PORT\". SIGTERM and SIGINT end the server.
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("zkrecipes-server: {message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let mut builder = Server::builder().port(2181).log_limit(0);
    let (mut tick, mut min, mut max) = (2000, None, None);
    let (mut quiet, mut keep) = (false, None);
    while let Some(argument) = arguments.next() {
        let (name, inline) = match argument.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (argument, None),
        };
        let mut value = || inline.clone().or_else(|| arguments.next()).ok_or(format!("{name} needs a value"));
        match name.as_str() {
            "--help" | "-h" => return print(HELP),
            "--version" => return print(concat!("zkrecipes-server ", env!("CARGO_PKG_VERSION"), "\n")),
            "--quiet" => quiet = true,
            "--allow-remote" => builder = builder.allow_remote(true),
            "--connections" => builder = builder.connection_limit(number(&name, &value()?)?),
            "--read-only" => builder = builder.read_only(true),
            "--extended-types" => builder = builder.extended_types(true),
            "--port" => builder = builder.port(number(&name, &value()?)?),
            "--host" => builder = builder.bind(host(&value()?)?),
            "--data-limit" => builder = builder.data_limit(number(&name, &value()?)?),
            "--tick" => tick = number(&name, &value()?)?,
            "--min-timeout" => min = Some(number(&name, &value()?)?),
            "--max-timeout" => max = Some(number(&name, &value()?)?),
            "--reap-every" => builder = builder.reap_every(Duration::from_millis(number(&name, &value()?)?)),
            "--keep" => keep = Some(PathBuf::from(value()?)),
            "--emulate" => builder = builder.emulate(&value()?),
            "--super" => builder = builder.super_digest(&value()?),
            _ => return Err(format!("unknown option {name}; see --help")),
        }
    }
    let ms = Duration::from_millis;
    builder = builder
        .tick(ms(tick))
        .min_session_timeout(ms(min.unwrap_or(tick * 2)))
        .max_session_timeout(ms(max.unwrap_or(tick * 20)));
    serve(builder, keep.as_deref(), quiet)
}

fn serve(mut builder: Builder, keep: Option<&Path>, quiet: bool) -> Result<(), String> {
    // Before the server is up, so that no signal is missed.
    let ending = Ending::watch().map_err(|e| format!("cannot watch for signals: {e}"))?;
    if let Some(file) = keep.filter(|f| f.exists()) {
        let saved = std::fs::read(file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
        builder = builder.saved(saved);
    }
    let builder = if quiet { builder } else { builder.tell(|line| eprintln!("{line}")) };
    let server =
        builder.start().map_err(|e| format!("cannot start: {}", in_words_of_the_program(&e.to_string())))?;
    if !quiet {
        eprintln!("zkrecipes-server keeps everything in memory; it is for development and tests only");
    }
    print(&format!("listening on {}\n", server.connect_string()))?;
    let signal = ending.wait();
    server.stop();
    if let Some(file) = keep {
        keep_in(file, &server.save()).map_err(|e| format!("cannot write {}: {e}", file.display()))?;
    }
    server.shutdown();
    if !quiet {
        eprintln!("stopped by {signal}");
    }
    Ok(())
}

fn in_words_of_the_program(problem: &str) -> String {
    problem.replace("allow_remote", "--allow-remote")
}

/// The data of everybody is in it, and what lets whoever reads it into their sessions. Half a file is none: it takes the name
/// of the old one when it is whole.
fn keep_in(file: &Path, saved: &[u8]) -> io::Result<()> {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = file.with_file_name(name);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&new).and_then(|mut out| out.write_all(saved).and_then(|()| out.sync_all()));
    let kept = written.and_then(|()| std::fs::rename(&new, file));
    if kept.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    kept
}

/// The signals that end the server.
#[cfg(unix)]
struct Ending(signal_hook::iterator::Signals);

#[cfg(unix)]
impl Ending {
    fn watch() -> io::Result<Ending> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        Ok(Ending(signal_hook::iterator::Signals::new([SIGTERM, SIGINT])?))
    }

    fn wait(mut self) -> &'static str {
        if self.0.forever().next() == Some(signal_hook::consts::SIGINT) { "SIGINT" } else { "SIGTERM" }
    }
}

/// Elsewhere it is ended from outside, and keeps nothing.
#[cfg(not(unix))]
struct Ending;

#[cfg(not(unix))]
impl Ending {
    fn watch() -> io::Result<Ending> {
        Ok(Ending)
    }

    fn wait(self) -> &'static str {
        loop {
            std::thread::park();
        }
    }
}

fn print(text: &str) -> Result<(), String> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| format!("cannot print: {e}"))
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{name}: {value:?} is not a number it can take"))
}

fn host(value: &str) -> Result<IpAddr, String> {
    let value = if value == "localhost" { "127.0.0.1" } else { value };
    value.parse().map_err(|_| format!("--host: {value:?} is not an IP address"))
}
