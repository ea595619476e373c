//! Who stands in the tree, and who keeps whom waiting: the recipes' rule, written a second time without their code.

use std::sync::Arc;

use crate::snapshot::Node;
use crate::subject::Ground;

/// What a node stands for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Lock,
    Read,
    Write,
    /// A permit of a semaphore: it keeps nobody waiting, but there are only so many.
    Permit,
}

impl Kind {
    pub fn excludes(self, other: Kind) -> bool {
        !matches!((self, other), (Kind::Read, Kind::Read) | (Kind::Permit, _) | (_, Kind::Permit))
    }
}

/// What the name of a node in a queue says: its kind, and the number behind it.
pub fn parse(name: &str) -> (Kind, Option<i32>) {
    let marks = [("__rlock__", Kind::Read), ("__READ__", Kind::Read), ("__WRIT__", Kind::Write)];
    let marks =
        marks.into_iter().chain([("__lock__", Kind::Lock), ("-lock-", Kind::Lock), ("-latch-", Kind::Lock)]);
    let marked = marks.filter_map(|(mark, kind)| Some((kind, name.rsplit_once(mark)?.1))).next();
    let (kind, number) = match marked {
        Some(found) => found,
        // `x-<hex>-N`: the number may have a sign.
        None => (Kind::Lock, name.get(2 + 32 + 1..).filter(|_| name.starts_with("x-")).unwrap_or_default()),
    };
    (kind, number.parse().ok())
}

/// A node that queues or holds.
#[derive(Clone, Debug)]
pub struct Contender {
    pub path: String,
    /// How much of the path is that of its queue.
    queue: usize,
    pub kind: Kind,
    number: i32,
    czxid: i64,
    pub session: i64,
    /// Somebody has written into it that it should go.
    pub is_asked: bool,
}

impl Contender {
    pub fn of(node: &Node, ground: &Ground) -> Option<Contender> {
        let (parent, name) = node.path.rsplit_once('/')?;
        if !ground.parents().any(|path| path == parent) || ground.lasting.contains(&node.path) {
            return None;
        }
        let (kind, number) = match ground.permits.as_deref() == Some(parent) {
            true => (Kind::Permit, 0),
            false => {
                let (kind, number) = parse(name);
                (kind, number.unwrap_or(i32::MAX))
            }
        };
        let (czxid, session, is_asked) = (node.czxid, node.session, node.data.starts_with(b"__REVOKE__"));
        let (path, queue) = (node.path.clone(), parent.len());
        Some(Contender { path, queue, kind, number, czxid, session, is_asked })
    }

    pub fn queue(&self) -> &str {
        &self.path[..self.queue]
    }

    /// The number, where it tells the place: past the end of the range it does not.
    pub fn number(&self) -> Option<i32> {
        (0..i32::MAX).contains(&self.number).then_some(self.number)
    }

    pub fn czxid(&self) -> i64 {
        self.czxid
    }

    /// Where it stands in its queue: by number, and past the end of the range, behind all others, by czxid.
    fn place(&self) -> (bool, i64) {
        self.number().map_or((true, self.czxid), |number| (false, number.into()))
    }

    /// Whether both cannot hold at once. A writer and the reader it takes over into share a number and are one party.
    pub fn excludes(&self, other: &Contender) -> bool {
        self.kind.excludes(other.kind) && self.queue() == other.queue() && self.place() != other.place()
    }
}

/// Everybody who stands at one moment, in the order of their queues and of their places there.
#[derive(Debug, Default)]
pub struct Standing(Vec<Arc<Contender>>);

impl Standing {
    pub fn of(contenders: impl Iterator<Item = Arc<Contender>>) -> Standing {
        let mut all: Vec<_> = contenders.collect();
        all.sort_by(|a, b| (a.queue(), a.place(), a.czxid).cmp(&(b.queue(), b.place(), b.czxid)));
        Standing(all)
    }

    pub fn all(&self) -> &[Arc<Contender>] {
        &self.0
    }

    /// Whether it stands and has not changed.
    pub fn has_still(&self, contender: &Arc<Contender>) -> bool {
        self.0.iter().any(|other| Arc::ptr_eq(other, contender))
    }

    /// Whether it stands, also if it has changed.
    pub fn has(&self, contender: &Arc<Contender>) -> bool {
        self.has_still(contender) || self.position(&contender.path).is_some()
    }

    pub fn position(&self, path: &str) -> Option<usize> {
        self.0.iter().position(|contender| contender.path == path)
    }

    /// Who stands before a contender and keeps it from holding.
    pub fn obstacles(&self, contender: &Contender) -> impl Iterator<Item = &Contender> {
        let all = self.0.iter().map(|other| &**other);
        all.filter(|other| other.excludes(contender) && other.place() < contender.place())
    }

    pub fn permits(&self) -> usize {
        self.0.iter().filter(|contender| contender.kind == Kind::Permit).count()
    }

    /// The paths queue by queue, each in order.
    pub fn queues(&self) -> Vec<Vec<String>> {
        let queues = self.0.chunk_by(|a, b| a.queue() == b.queue());
        queues.map(|queue| queue.iter().map(|contender| contender.path.clone()).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(name: &str, czxid: i64) -> Arc<Contender> {
        let (kind, number) = parse(name);
        let (number, path) = (number.expect("a number"), format!("/q/{name}"));
        Arc::new(Contender { path, queue: 2, kind, number, czxid, session: 0, is_asked: false })
    }

    fn keeps_out(ahead: &Arc<Contender>, behind: &Arc<Contender>) -> bool {
        let standing = Standing(vec![behind.clone(), ahead.clone()]);
        standing.obstacles(behind).any(|obstacle| obstacle.path == ahead.path)
    }

    #[test]
    fn everybody_names_their_nodes_their_own_way() {
        let hex = "7f1b2c3d4e5f60718293a4b5c6d7e8f9";
        for (name, kind, number) in [
            (format!("_c_x-lock-{:010}", 7), Kind::Lock, 7),
            (format!("{hex}__lock__{:010}", 8), Kind::Lock, 8),
            (format!("{hex}__rlock__{:010}", 9), Kind::Read, 9),
            (format!("_c_x-__READ__{:010}", 3), Kind::Read, 3),
            (format!("_c_x-__WRIT__{:010}", 4), Kind::Write, 4),
            (format!("x-{hex}-{:010}", 5), Kind::Lock, 5),
            (format!("x-{hex}-{:010}", -3), Kind::Lock, -3),
        ] {
            assert_eq!(parse(&name), (kind, Some(number)), "{name}");
        }
    }

    #[test]
    fn readers_wait_for_writers_alone_and_a_writer_not_for_its_own_reader() {
        let (writer, own) =
            (contender("_c_a-__WRIT__0000000002", 2), contender("_c_b-__READ__0000000002", 9));
        let (early, late) =
            (contender("_c_c-__READ__0000000001", 1), contender("_c_d-__READ__0000000003", 3));
        assert!(keeps_out(&early, &writer) && keeps_out(&writer, &late));
        assert!(!keeps_out(&early, &late) && !keeps_out(&writer, &own) && !keeps_out(&own, &writer));
    }

    #[test]
    fn past_the_end_of_the_range_the_first_made_comes_first() {
        let (early, last) = (contender("_c_a-lock-2147483646", 9), contender("_c_b-lock-2147483647", 5));
        let wrapped = contender("_c_c-lock--2147483648", 4);
        assert!(keeps_out(&early, &last) && keeps_out(&early, &wrapped));
        assert!(keeps_out(&wrapped, &last) && !keeps_out(&last, &wrapped));
    }
}
