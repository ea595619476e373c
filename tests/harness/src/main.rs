//! `scenarios`: plays tests/scenarios/*.scn through every language and on every server, and counts.
//!
//! ```text
//! scenarios [--filter TEXT] [--lang rust,c,python,aio,node,mixed,guest]
//!           [--server embedded,zookeeper-3.5,zookeeper-3.6,zookeeper-3.7,zookeeper-3.8,zookeeper-3.9,ensemble-3.9,
//!            clickhouse,clickhouse-25.8,raftkeeper]
//!           [--all] [--jobs N] [--repeat N] [--patience SECONDS] [--list]
//! ```
//!
//! What a server decides is the same for every language, and what a language's face decides is the same on every server.
//! So, unless flags say otherwise, every language plays on the embedded server, and each real one is played on once: by a
//! cast in which each client speaks another language on ZooKeeper 3.9, by Rust on the others. What becomes of faults on the
//! wire, of servers that stop and of processes that die is decided by the core and the server alone: such a scenario is
//! played on the embedded server by Rust and by one other language, which is not the same from scenario to scenario. With
//! `--all`, `--lang` or `--server`: every combination. Without flags, nobody plays on older lines of ZooKeeper, and Rust
//! alone plays a few on other servers that speak the protocol, see [`SAMPLE`]: with `ZKR_CLICKHOUSE` or `ZKR_RAFTKEEPER` such a
//! server plays itself, else the embedded one in its dialect. `guest`, which is Rust over sessions of the crate
//! zookeeper-client, plays only when it is named. `--list` says as well how many runs these flags come to.

mod driver;
mod observer;
mod play;
mod scenario;
mod world;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use driver::{Driver, Language};
use scenario::Scenario;
use world::{Hall, Kind, World};

/// What is played in each dialect unless flags say otherwise: what is made, watched, lost and taken over.
const SAMPLE: [&str; 5] = ["lock-basics/", "lock-order/", "group/", "counter/", "barrier/"];

/// All clients in one language, or each in another.
#[derive(Clone)]
struct Cast {
    name: &'static str,
    languages: Vec<Language>,
}

struct Job<'a> {
    scenario: &'a Scenario,
    cast: Cast,
    kind: Kind,
}

struct Options {
    filter: Vec<String>,
    casts: Vec<String>,
    kinds: Vec<String>,
    jobs: usize,
    repeat: usize,
    all: bool,
    list: bool,
}

impl Options {
    /// Whether this cast is to play the scenario on this server; see the head of this file.
    fn want(&self, kind: Kind, cast: &str, scenario: &Scenario, index: usize) -> bool {
        let named = |list: &[String], name: &str| list.is_empty() || list.iter().any(|wanted| wanted == name);
        if self.all || !self.casts.is_empty() || !self.kinds.is_empty() {
            let is_guest = cast == Language::Guest.name();
            return named(&self.casts, cast)
                && named(&self.kinds, kind.name())
                && (!is_guest || !self.casts.is_empty());
        }
        if kind.is_rare() {
            let is_of_the_sample = SAMPLE.iter().any(|start| scenario.name.starts_with(start));
            return kind.dialect().is_some() && cast == "rust" && is_of_the_sample;
        }
        // Where a language is left out, there is no mixed cast.
        if cast == Language::Guest.name() {
            return false;
        }
        let mixed = kind == Kind::Real39 && scenario.except.iter().all(|name| name == Language::Guest.name());
        match kind {
            Kind::Embedded if scenario.is_decided_below_the_faces() => {
                cast == "rust" || cast == other_than_rust(index, scenario)
            }
            Kind::Embedded => cast != "mixed",
            _ => cast == if mixed { "mixed" } else { "rust" },
        }
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("scenarios: {problem}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<usize, String> {
    let options = options()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    let scenarios = read_all(&root.join("tests/scenarios"))?;
    if options.list {
        for scenario in &scenarios {
            println!("{}\n    {}", scenario.name, scenario.promise);
        }
        println!("{} runs of {} scenarios", plan(&scenarios, &options).len(), scenarios.len());
        return Ok(0);
    }
    let jobs = plan(&scenarios, &options);
    if jobs.is_empty() {
        return Err("nothing matches these flags".into());
    }
    let diaries = std::env::temp_dir().join(format!("zkrecipes-scenarios-{}", std::process::id()));
    let failed = play_all(&jobs, options.jobs, &root, &diaries);
    let _ = std::fs::remove_dir_all(&diaries);
    Ok(failed)
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        filter: vec![],
        casts: vec![],
        kinds: vec![],
        // Scenarios mostly wait, for the ends of sessions above all: together they take 3,600 s, and 350 s of processors.
        jobs: 20,
        repeat: 1,
        all: false,
        list: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(flag) = words.next() {
        match flag.as_str() {
            "--list" => {
                options.list = true;
                continue;
            }
            "--all" => {
                options.all = true;
                continue;
            }
            _ => {}
        }
        let value = words.next().ok_or_else(|| format!("{flag} needs a value"))?;
        let list = || value.split(',').map(str::to_owned).collect::<Vec<_>>();
        let number =
            || value.parse::<usize>().map_err(|_| format!("{flag} takes a number")).map(|n| n.max(1));
        match flag.as_str() {
            "--filter" => options.filter = list(),
            "--lang" => options.casts = list(),
            "--server" => options.kinds = list(),
            "--jobs" => options.jobs = number()?,
            "--patience" => play::set_patience(Duration::from_secs(number()? as u64)),
            "--repeat" => options.repeat = number()?,
            _ => {
                return Err(format!(
                    "unknown flag {flag}; the flags stand at the top of tests/harness/src/main.rs"
                ));
            }
        }
    }
    for name in &options.casts {
        if name != "mixed" && Language::named(name).is_none() {
            return Err(format!("no language {name}"));
        }
    }
    for name in &options.kinds {
        if !Kind::ALL.iter().any(|kind| kind.name() == name) {
            return Err(format!("no server {name}"));
        }
    }
    Ok(options)
}

fn read_all(directory: &Path) -> Result<Vec<Scenario>, String> {
    let listing =
        std::fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut files: Vec<PathBuf> = listing.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "scn"));
    files.sort();
    let mut scenarios = Vec::new();
    for file in files {
        scenarios.extend(scenario::read(&file)?);
    }
    Ok(scenarios)
}

fn plan<'a>(scenarios: &'a [Scenario], options: &Options) -> Vec<Job<'a>> {
    let mut jobs = Vec::new();
    for kind in Kind::ALL {
        for (index, scenario) in scenarios.iter().enumerate() {
            let fits = match kind {
                Kind::Embedded => !scenario.ensemble_only(),
                Kind::Ensemble => scenario.ensemble && !scenario.embedded_only(),
                _ if kind.elsewhere().is_some() => {
                    !scenario.embedded_only() && !scenario.exclusive() && !scenario.expires()
                }
                _ if kind.dialect().is_some() => !scenario.ensemble_only(),
                _ => !scenario.embedded_only() && !scenario.ensemble_only(),
            };
            let fits = fits && kind.has(scenario.needs());
            let named = options.filter.is_empty() || options.filter.iter().any(|f| scenario.name.contains(f));
            if !fits || !named {
                continue;
            }
            for cast in casts(index).into_iter().filter(|cast| options.want(kind, cast.name, scenario, index))
            {
                let excluded = cast
                    .languages
                    .iter()
                    .any(|language| scenario.except.iter().any(|except| except == language.name()));
                if !excluded {
                    for _ in 0..options.repeat {
                        jobs.push(Job { scenario, cast: cast.clone(), kind });
                    }
                }
            }
        }
    }
    jobs
}

/// The language, besides Rust, that plays a scenario in which only one does.
fn other_than_rust(index: usize, scenario: &Scenario) -> &'static str {
    let others = Language::ALL.into_iter().map(Language::name);
    let fit: Vec<_> = others
        .filter(|name| *name != "rust" && !scenario.except.iter().any(|except| except == name))
        .collect();
    fit.get(index % fit.len().max(1)).copied().unwrap_or("rust")
}

/// Each language alone, and all of them together in an order that differs from scenario to scenario; and the guest.
fn casts(index: usize) -> Vec<Cast> {
    let mut casts: Vec<Cast> = Language::ALL
        .into_iter()
        .chain([Language::Guest])
        .map(|language| Cast { name: language.name(), languages: vec![language] })
        .collect();
    let mut languages = Language::ALL.to_vec();
    languages.rotate_left(index % Language::ALL.len());
    if index / Language::ALL.len() % 2 == 1 {
        languages.reverse();
    }
    casts.push(Cast { name: "mixed", languages });
    casts
}

fn play_all(jobs: &[Job<'_>], threads: usize, root: &Path, diaries: &Path) -> usize {
    let halls: BTreeMap<Kind, Arc<Hall>> =
        Kind::ALL.into_iter().map(|kind| (kind, Hall::new(kind, root))).collect();
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(jobs.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { return };
                    let begun = Instant::now();
                    let outcome = play_one(job, &halls[&job.kind], root, &diaries.join(index.to_string()));
                    let seconds = begun.elapsed().as_secs_f64();
                    let title =
                        format!("{} {:<6} {}", pad(job.kind.name(), 15), job.cast.name, job.scenario.name);
                    match outcome {
                        Ok(()) => println!("ok    {title}  {seconds:.1} s"),
                        Err(story) => {
                            println!("FAIL  {title}  {seconds:.1} s\n{}", indent(&story));
                            failures.lock().expect("no panics inside").push(title);
                        }
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("no panics inside");
    if let Err(problem) = Driver::dismiss_all(Duration::from_secs(30)) {
        failures.push(format!("the end: {problem}"));
    }
    println!();
    for title in &failures {
        println!("failed: {title}");
    }
    let passed = jobs.len().saturating_sub(failures.len());
    println!("{passed} passed, {} failed in {:.0} s", failures.len(), started.elapsed().as_secs_f64());
    failures.len()
}

fn play_one(job: &Job<'_>, hall: &Arc<Hall>, root: &Path, diaries: &Path) -> Result<(), String> {
    std::fs::create_dir_all(diaries).map_err(|error| format!("{}: {error}", diaries.display()))?;
    let world = match job.kind {
        kind if kind == Kind::Embedded || (kind.dialect().is_some() && kind.elsewhere().is_none()) => {
            World::embedded(kind.dialect())?
        }
        _ => hall.world(job.scenario.exclusive())?,
    };
    play::play(job.scenario, &job.cast.languages, &world, root, diaries)
}

fn pad(text: &str, width: usize) -> String {
    format!("{text:<width$}")
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("        {line}\n")).collect()
}
