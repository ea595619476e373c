//! Following: in the end everybody was told what is there, and meanwhile nothing that was over before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::sim::HostId;
use crate::snapshot::Node;
use crate::solo::Solo;
use crate::subject::{PATH, Subject};

/// What is there, by name or by path: the data, and which transaction created it, where that is told.
pub type View = BTreeMap<String, (Vec<u8>, i64)>;

/// What somebody follows.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    Members,
    Data,
    Children,
    Subtree,
}

#[derive(Default)]
pub struct Views(Solo<Inner>);

#[derive(Default)]
struct Inner {
    begun: usize,
    done: usize,
    /// Those who are to be members in the end.
    members: BTreeMap<String, Vec<u8>>,
    told: BTreeMap<(HostId, Scope), View>,
    disagreement: String,
    is_agreed: bool,
}

impl Views {
    /// A worker begins; the number is its own.
    pub fn begin(&self) -> usize {
        let mut views = self.0.lock();
        views.begun += 1;
        views.begun - 1
    }

    /// A worker has done the last thing that changes anything: it is a member now.
    pub fn done_as(&self, member: &str, data: &[u8]) {
        self.0.lock().members.insert(member.to_owned(), data.to_vec());
        self.done();
    }

    pub fn done(&self) {
        self.0.lock().done += 1;
    }

    /// Somebody follows it, and has been told nothing.
    pub fn follow(&self, host: HostId, scope: Scope) {
        self.0.lock().told.insert((host, scope), View::new());
    }

    /// An observer was told this.
    pub fn told(&self, host: HostId, scope: Scope, view: View) {
        self.0.lock().told.insert((host, scope), view);
    }

    /// Once everybody who is done with it has seen the same as the server, for good.
    pub fn is_agreed(&self) -> bool {
        self.0.lock().is_agreed
    }

    /// Why they have not agreed when they last looked.
    pub fn disagreement(&self) -> String {
        self.0.lock().disagreement.clone()
    }

    /// Compares what everybody was told with what is there.
    pub fn compare(&self, subject: Subject, workers: usize, nodes: &[Arc<Node>]) {
        let mut views = self.0.lock();
        let wrong = views.wrong(subject, workers, nodes);
        views.is_agreed |= wrong.is_none();
        views.disagreement = wrong.unwrap_or_default();
    }
}

impl Inner {
    fn wrong(&self, subject: Subject, workers: usize, nodes: &[Arc<Node>]) -> Option<String> {
        if self.done < workers {
            return Some(format!("{} of {workers} workers are done", self.done));
        }
        let there = seen(subject, Scope::Members, nodes);
        let members: BTreeMap<_, _> =
            there.iter().map(|(name, (data, _))| (name.clone(), data.clone())).collect();
        if matches!(subject, Subject::Group { .. }) && members != self.members {
            return Some(format!("{members:?} are members, and should be {:?}", self.members));
        }
        let other = self.told.iter().find(|((_, scope), told)| **told != seen(subject, *scope, nodes))?;
        let ((host, scope), told) = other;
        Some(format!(
            "h{host} was told {told:?} of {scope:?}, and there is {:?}",
            seen(subject, *scope, nodes)
        ))
    }
}

/// What an observer should know of the nodes.
fn seen(subject: Subject, scope: Scope, nodes: &[Arc<Node>]) -> View {
    let nodes = nodes.iter().map(|node| &**node);
    let is_child = |node: &&Node| node.path.rsplit_once('/').is_some_and(|(parent, _)| parent == PATH);
    let name = |node: &Node| node.path.rsplit_once('/').map(|(_, name)| name.to_owned()).unwrap_or_default();
    let whole = |node: &Node| (node.path.clone(), (node.data.clone(), node.czxid));
    match scope {
        Scope::Members => nodes.filter(is_child).filter_map(|node| member(subject, node)).collect(),
        Scope::Data => nodes.filter(|node| node.path == PATH).map(whole).collect(),
        Scope::Children => nodes.filter(is_child).map(|node| (name(node), (Vec::new(), 0))).collect(),
        Scope::Subtree => nodes.map(whole).collect(),
    }
}

fn member(subject: Subject, node: &Node) -> Option<(String, (Vec<u8>, i64))> {
    let (_, name) = node.path.rsplit_once('/')?;
    match subject {
        Subject::Group { is_party: true } => {
            Some((String::from_utf8_lossy(&node.data).into_owned(), (Vec::new(), 0)))
        }
        _ => Some((name.to_owned(), (node.data.clone(), 0))),
    }
}

/// What one observer was told, for holding what comes next against it.
#[derive(Default)]
pub struct Memory {
    /// When each path was created and changed last, also of those that are gone.
    newest: BTreeMap<String, (i64, i64)>,
    there: BTreeSet<String>,
}

impl Memory {
    /// Why that cannot be: all that is there now, when it was created and when it was changed.
    pub fn told(&mut self, now: &BTreeMap<String, (i64, i64)>) -> Option<String> {
        let mut wrong = None;
        for (path, mark) in now {
            let before = self.newest.insert(path.clone(), *mark);
            let Some(before) = before else { continue };
            if *mark < before {
                wrong.get_or_insert(format!("{path} of {mark:?} was told after {before:?}"));
            }
            if !self.there.contains(path) && mark.0 <= before.0 {
                wrong.get_or_insert(format!("{path} of {mark:?} was gone already"));
            }
        }
        self.there = now.keys().cloned().collect();
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_gone_or_changed_is_not_told_as_it_was_before() {
        let told = |marks: &[(i64, i64)]| {
            let mut memory = Memory::default();
            let mut wrong = None;
            for mark in marks {
                let there: &[_] = if *mark == (0, 0) { &[] } else { &[*mark] };
                wrong = memory.told(&there.iter().map(|mark| ("/a".to_owned(), *mark)).collect());
            }
            wrong.is_some()
        };
        assert!(!told(&[(1, 1), (1, 2), (0, 0), (3, 3)]));
        assert!(told(&[(1, 2), (1, 1)]), "an older state");
        assert!(told(&[(1, 1), (0, 0), (1, 1)]), "a node that was gone");
    }

    #[test]
    fn everybody_must_know_what_is_there() {
        let (views, subject) = (Views::default(), Subject::Group { is_party: false });
        let node = |name: &str| Arc::new(Node::made(format!("{PATH}/{name}")));
        let agree = |nodes: &[Arc<Node>]| {
            views.compare(subject, 1, nodes);
            views.is_agreed()
        };
        views.follow(0, Scope::Members);
        assert!(!agree(&[]), "nobody is done");
        views.done_as("a", b"");
        assert!(!agree(&[]), "the member is not there");
        assert!(!agree(&[node("a")]), "the follower does not know");
        views.told(0, Scope::Members, View::from([("a".to_owned(), (Vec::new(), 0))]));
        assert!(!agree(&[node("a"), node("b")]), "nobody's");
        assert!(agree(&[node("a")]));
    }
}
