//! What all do or none: transactions of two-phase commit.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use zkrecipes::{
    Client, CommitMode, CommitStatus, CommitTransaction, Error, Outcome, Proposal, TwoPhaseCommit,
};

use super::{Answer, millis, one};

/// A key is a client, a name, and an id where there is one.
type Key = (String, String, String);

#[derive(Default)]
pub struct Commits {
    handles: Mutex<HashMap<Key, TwoPhaseCommit>>,
    begun: Mutex<HashMap<Key, CommitTransaction>>,
    asked: Mutex<HashMap<Key, Proposal>>,
}

fn found<T: Clone>(all: &Mutex<HashMap<Key, T>>, key: &Key) -> Result<T, Error> {
    let found = all.lock().unwrap().get(key).cloned();
    found.ok_or_else(|| Error::invalid("name", format!("{} {} is not known", key.1, key.2)))
}

impl Commits {
    /// Whether this is the command for it; if so, its answer.
    pub async fn perform(&self, client: &Client, words: &[String]) -> Option<Answer> {
        let verb = words[1].strip_prefix("2pc")?;
        let arguments: Vec<&str> = words[2..].iter().map(String::as_str).collect();
        Some(self.command(client, &words[0], verb.trim_start_matches('-'), &arguments).await)
    }

    async fn command(&self, client: &Client, of: &str, verb: &str, arguments: &[&str]) -> Answer {
        let [name, rest @ ..] = arguments else { return Err(Error::invalid("name", "is missing")) };
        let key = |id: &str| (of.to_owned(), (*name).to_owned(), id.to_owned());
        if let ("", [path, mode @ ..]) = (verb, rest) {
            let mode = mode.first().map_or(Ok(CommitMode::Coordinator), |mode| mode.parse())?;
            let made = client.two_phase_commit(path, mode)?;
            self.handles.lock().unwrap().insert(key(""), made);
            return Ok(vec![]);
        }
        let commits = found(&self.handles, &key(""))?;
        match (verb, rest) {
            ("begin", [id, sites, payload, timeout]) => {
                let sites: Vec<&str> = sites.split(',').collect();
                let timeout = millis(Some(timeout)).unwrap_or(Duration::MAX);
                let begun = commits.begin(id, &sites, payload.as_bytes(), timeout).await?;
                self.begun.lock().unwrap().insert(key(id), begun);
                Ok(vec![])
            }
            ("outcome", [id, limit @ ..]) => {
                outcome(found(&self.begun, &key(id))?.outcome(millis(limit.first())).await?)
            }
            ("recover", []) => {
                let recovered = commits.recover().await?;
                let ids = recovered.iter().map(|transaction| transaction.id().to_owned()).collect();
                let all = recovered.into_iter().map(|transaction| (key(transaction.id()), transaction));
                self.begun.lock().unwrap().extend(all);
                Ok(ids)
            }
            ("join", [site]) => commits.join(site).await.map(|()| vec![]),
            ("leave", []) => commits.leave().await.map(|()| vec![]),
            ("next", limit) => {
                let proposal = commits.next(millis(limit.first())).await?;
                let answer = vec![proposal.id().to_owned(), text(proposal.payload())];
                self.asked.lock().unwrap().insert(key(&answer[0]), proposal);
                Ok(answer)
            }
            ("pending", []) => {
                let pending = commits.pending().await?;
                let said = pending.iter().map(|proposal| match proposal.has_voted() {
                    true => format!("{}=voted", proposal.id()),
                    false => proposal.id().to_owned(),
                });
                let said = said.collect();
                let all = pending.into_iter().map(|proposal| (key(proposal.id()), proposal));
                self.asked.lock().unwrap().extend(all);
                Ok(said)
            }
            ("vote", [id, "commit"]) => found(&self.asked, &key(id))?.vote_commit().await.map(|()| vec![]),
            ("vote", [id, "abort", reason @ ..]) => {
                let reason = reason.first().copied().unwrap_or_default();
                found(&self.asked, &key(id))?.vote_abort(reason).await.map(|()| vec![])
            }
            ("learn", [id, limit @ ..]) => {
                outcome(found(&self.asked, &key(id))?.outcome(millis(limit.first())).await?)
            }
            ("ack", [id]) => found(&self.asked, &key(id))?.acknowledge().await.map(|()| vec![]),
            ("history", []) => {
                let all = commits.history().await?;
                Ok(all.iter().map(|status| format!("{}={}", status.id, decided(status))).collect())
            }
            ("show", [id]) => Ok(commits.show(id).await?.map_or(vec!["none".to_owned()], shown)),
            ("decide", [id]) => outcome(commits.decide_abort(id, "by hand").await?),
            _ => Err(Error::invalid("verb", format!("{verb} is not understood"))),
        }
    }
}

fn outcome(outcome: Outcome) -> Answer {
    one(outcome.name())
}

fn text(data: &[u8]) -> String {
    match data {
        [] => "-".to_owned(),
        data => String::from_utf8_lossy(data).into_owned(),
    }
}

fn decided(status: &CommitStatus) -> &'static str {
    status.outcome.map_or("open", Outcome::name)
}

/// `open present a=there,voted b=`
fn shown(status: CommitStatus) -> Vec<String> {
    let mut said = vec![decided(&status).to_owned(), status.coordinator.name().to_owned()];
    said.extend(status.sites.iter().map(|site| {
        let marks = [(site.is_present, "there"), (site.has_voted, "voted"), (site.has_acknowledged, "done")];
        let marks: Vec<_> = marks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, word)| word).collect();
        format!("{}={}", site.site, marks.join(","))
    }));
    said
}
