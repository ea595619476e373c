//! Scenario files: what stands in them, how it is read, and whether it needs the embedded server. tests/scenarios/README.md is
//! the reader's page.

use std::path::Path;

#[derive(Clone, Debug)]
pub struct Scenario {
    /// File stem and name: `lock-order/five_waiters_are_served_in_order`.
    pub name: String,
    pub promise: String,
    pub file: String,
    /// Also run on a three-node ensemble.
    pub ensemble: bool,
    /// Languages in which the subject does not exist.
    pub except: Vec<String>,
    /// What it says that the server has to have.
    needs: Vec<String>,
    /// Clients of one process; every client not named here has a process of its own.
    pub together: Vec<Vec<String>>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub struct Step {
    pub line: usize,
    pub text: String,
    pub label: Option<String>,
    pub eventually: bool,
    pub words: Vec<String>,
    pub expect: Option<Vec<String>>,
}

impl Scenario {
    /// Needs something that only the embedded server can do.
    pub fn embedded_only(&self) -> bool {
        self.any_server_step(&["next-sequence", "requests", "pause", "resume"])
    }

    /// Stops or restarts server processes, so it cannot share one with other scenarios.
    pub fn exclusive(&self) -> bool {
        self.any_server_step(&["stop", "start", "restart", "kill", "revive"])
    }

    /// Its subject is a fault on the wire, a server that stops, or a process that dies or stands still. What comes of that is
    /// decided by the core and the server, and no language's face has a part in it.
    pub fn is_decided_below_the_faces(&self) -> bool {
        self.any_server_step(&["inject", "pause", "next-sequence", "stop", "restart", "kill"])
            || self.kills_any()
            || self.steps.iter().any(|step| step.words[0] == "freeze")
    }

    fn kills_any(&self) -> bool {
        self.steps.iter().any(|step| step.words[0] == "kill")
    }

    /// Whether the process of this client is killed, or that of another one that it shares a process with.
    pub fn kills(&self, client: &str) -> bool {
        let is_near = |killed: &str| {
            killed == client
                || self.together.iter().any(|group| {
                    group.iter().any(|one| one == client) && group.iter().any(|one| one == killed)
                })
        };
        self.steps.iter().any(|step| step.words[0] == "kill" && is_near(&step.words[1]))
    }

    /// Kills single members, which only an ensemble has.
    pub fn ensemble_only(&self) -> bool {
        self.any_server_step(&["kill", "revive"])
    }

    /// Has the server end a session, which is done behind a proxy in the name of its client: by one that goes on with it.
    pub fn expires(&self) -> bool {
        self.any_server_step(&["expire"])
    }

    /// What the server has to have; it is not played on one that does not.
    pub fn needs(&self) -> impl Iterator<Item = &str> {
        let derived = [
            // Who counts requests knows which are usual.
            ("usual-requests", self.any_server_step(&["requests"])),
            ("sessions-that-go-on", self.any_server_step(&["drop", "inject", "restart", "stop", "pause"])),
        ];
        let derived = derived.into_iter().filter(|(_, is_needed)| *is_needed).map(|(need, _)| need);
        self.needs.iter().map(String::as_str).chain(derived)
    }

    fn any_server_step(&self, verbs: &[&str]) -> bool {
        self.steps.iter().any(|step| step.words[0] == "server" && verbs.contains(&step.words[1].as_str()))
    }
}

pub fn read(path: &Path) -> Result<Vec<Scenario>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut scenarios: Vec<Scenario> = Vec::new();
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        let raw = raw.split(" #").next().unwrap_or_default().trim();
        if raw.is_empty() || raw.starts_with('#') {
            continue;
        }
        let complain = |problem: &str| Err(format!("{}:{line}: {problem}: {raw}", path.display()));
        let (first, rest) = raw.split_once(' ').unwrap_or((raw, ""));
        if first == "scenario" {
            scenarios.push(Scenario {
                name: format!("{stem}/{}", rest.trim()),
                promise: String::new(),
                file: path.display().to_string(),
                ensemble: false,
                except: Vec::new(),
                needs: Vec::new(),
                together: Vec::new(),
                steps: Vec::new(),
            });
            continue;
        }
        let Some(scenario) = scenarios.last_mut() else {
            return complain("a step before the first scenario");
        };
        match first {
            "promise" => scenario.promise = [&scenario.promise, rest.trim()].join(" ").trim().to_owned(),
            "ensemble" => scenario.ensemble = true,
            "except" => scenario.except.extend(rest.split_whitespace().map(str::to_owned)),
            "needs" => scenario.needs.extend(rest.split_whitespace().map(str::to_owned)),
            "together" => scenario.together.push(rest.split_whitespace().map(str::to_owned).collect()),
            _ => match step(line, raw) {
                Some(step) => scenario.steps.push(step),
                None => return complain("not understood"),
            },
        }
    }
    for scenario in &scenarios {
        if scenario.promise.is_empty() {
            return Err(format!(
                "{}: {} does not say which promise it guards",
                path.display(),
                scenario.name
            ));
        }
    }
    Ok(scenarios)
}

fn step(line: usize, raw: &str) -> Option<Step> {
    let (action, expect) = match raw.split_once(" -> ") {
        // Its steps have expectations of their own.
        Some(_) if raw.starts_with("rounds ") => (raw, None),
        Some((action, expect)) => (action, Some(words(expect))),
        None => (raw, None),
    };
    let mut words = words(action);
    let eventually = words.first()? == "eventually";
    if eventually {
        words.remove(0);
    }
    let label = words.first()?.strip_suffix(':').map(str::to_owned);
    if label.is_some() {
        words.remove(0);
    }
    if words.len() < 2 && words.first()? != "race" {
        return None;
    }
    Some(Step { line, text: raw.to_owned(), label, eventually, words, expect })
}

impl Step {
    /// `rounds N A,B STEP ; STEP`, for each of the clients; `@` is its name.
    pub fn rounds(&self) -> Option<Vec<Rounds>> {
        let mut parts = self.text.splitn(4, ' ').skip(1);
        let (laps, clients, steps) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
        let of = |client: &str| {
            let steps = steps.split(" ; ").map(|part| format!("@ {part}").replace('@', client));
            let steps = steps.map(|part| step(self.line, &part)).collect::<Option<_>>()?;
            Some(Rounds { client: client.to_owned(), laps, steps })
        };
        clients.split(',').map(of).collect()
    }
}

/// What one client does in a race: the same steps, so often.
#[derive(Clone, Debug)]
pub struct Rounds {
    pub client: String,
    pub laps: usize,
    pub steps: Vec<Step>,
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_read_with_its_label_and_expectation() {
        let step = step(7, "b: A,B acquire L 500 -> error TIMEOUT").expect("a step");
        assert_eq!((step.line, step.label.as_deref(), step.eventually), (7, Some("b"), false));
        assert_eq!(step.words, ["A,B", "acquire", "L", "500"]);
        assert_eq!(step.expect, Some(vec!["error".to_owned(), "TIMEOUT".to_owned()]));
    }

    #[test]
    fn rounds_are_read_for_each_client() {
        let line = "rounds 20 A,B acquire L ; create $P/@ x ; exists $P/out -> false";
        let rounds = step(7, line).and_then(|step| step.rounds()).expect("rounds");
        let [_, Rounds { client, laps: 20, steps }] = &rounds[..] else { panic!("two clients") };
        assert_eq!((client.as_str(), steps.len()), ("B", 3));
        assert_eq!(steps[1].words, ["B", "create", "$P/B", "x"]);
        assert_eq!(steps[2].expect, Some(vec!["false".to_owned()]));
    }

    #[test]
    fn the_words_of_a_scenario_tell_where_it_can_run() {
        let file = std::env::temp_dir().join(format!("zkrecipes-scenario-{}.scn", std::process::id()));
        let text = "scenario a\npromise p\nensemble\nA connect\nserver restart\n\
                    scenario b\npromise p\neventually server requests A create* -> 1\n";
        std::fs::write(&file, text).expect("a temporary file");
        let read = read(&file);
        let _ = std::fs::remove_file(&file);
        let [a, b] = &read.expect("understood")[..] else { panic!("two scenarios") };
        assert!(a.ensemble && a.exclusive() && !a.embedded_only() && !a.ensemble_only());
        assert!(b.embedded_only() && !b.exclusive());
    }
}
