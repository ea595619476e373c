//! What was found: lines for people, JSON for programs, an exit status for monitoring.

use serde_json::{Map, Value, json};

use crate::table;

/// How bad it is, and what plugins for monitoring end with for it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// To be known; nothing is wrong with it.
    Note,
    Fine,
    Warning,
    Failure,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Level::Note => "note",
            Level::Fine => "ok",
            Level::Warning => "warning",
            Level::Failure => "FAILURE",
        }
    }

    fn status(self) -> i32 {
        match self {
            Level::Note | Level::Fine => 0,
            Level::Warning => 1,
            Level::Failure => 2,
        }
    }
}

/// One thing that was looked at.
struct Finding {
    level: Level,
    check: &'static str,
    /// The server, if it is about one.
    server: Option<String>,
    sentence: String,
    figures: Map<String, Value>,
}

/// Everything that was found, in order.
#[derive(Default)]
pub(super) struct Report(Vec<Finding>);

impl Report {
    /// About all servers together.
    pub(super) fn add(
        &mut self,
        level: Level,
        check: &'static str,
        sentence: impl Into<String>,
    ) -> &mut Self {
        self.0.push(Finding { level, check, server: None, sentence: sentence.into(), figures: Map::new() });
        self
    }

    /// The last one is about this server.
    pub(super) fn of(&mut self, server: &str) -> &mut Self {
        if let Some(last) = self.0.last_mut() {
            last.server = Some(server.to_owned());
        }
        self
    }

    /// A number or a name that belongs to the last one, for programs.
    pub(super) fn with(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        if let Some(last) = self.0.last_mut() {
            last.figures.insert(name.to_owned(), value.into());
        }
        self
    }

    /// What was found at one server. Without a server of its own, a finding holds for all of them.
    pub(super) fn append(&mut self, mut found: Report) {
        self.0.append(&mut found.0);
    }

    fn worst(&self) -> Level {
        self.0.iter().map(|finding| finding.level).max().unwrap_or(Level::Failure).max(Level::Fine)
    }

    pub(super) fn status(&self) -> i32 {
        self.worst().status()
    }

    pub(super) fn lines(&self) -> String {
        let cells: Vec<[String; 3]> = self
            .0
            .iter()
            .map(|finding| {
                let subject = finding.server.as_deref().unwrap_or(finding.check);
                let sentence = match &finding.server {
                    Some(_) if finding.check != "server" => {
                        format!("{}: {}", finding.check, finding.sentence)
                    }
                    _ => finding.sentence.clone(),
                };
                [finding.level.word().to_owned(), table::printable(subject), table::printable(&sentence)]
            })
            .collect();
        let count = |level| self.0.iter().filter(|finding| finding.level == level).count();
        let end = match (count(Level::Failure), count(Level::Warning)) {
            (0, 0) => "all is well".to_owned(),
            (failures, warnings) => format!("failures: {failures}, warnings: {warnings}"),
        };
        table::columns(&cells).join("\n") + "\n\n" + &end + "\n"
    }

    pub(super) fn json(&self, hosts: &str) -> String {
        let checks: Vec<_> = self
            .0
            .iter()
            .map(|finding| {
                json!({
                    "check": finding.check,
                    "server": finding.server,
                    "level": finding.level.word().to_lowercase(),
                    "message": finding.sentence,
                    "figures": finding.figures,
                })
            })
            .collect();
        let whole = json!({ "hosts": hosts, "level": self.worst().word().to_lowercase(), "checks": checks });
        table::unsteered(&format!("{whole:#}\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_of_itself_steers_no_terminal() {
        let mut report = Report::default();
        let said = "3.9\u{9b}2J\u{202e}\u{200f}\u{1b}[2J";
        report.add(Level::Fine, "server", said).of("zk1:2181").with("version", said);
        for text in [report.lines(), report.json("zk1:2181")] {
            let steering = text.chars().find(|c| zkrecipes::drive::log::steers(*c) && *c != '\n');
            assert_eq!(steering, None, "{text:?}");
        }
        let read: Value = serde_json::from_str(&report.json("zk1:2181")).expect("JSON");
        assert_eq!(read["checks"][0]["figures"]["version"], said, "a program gets it as it is");
    }
}
