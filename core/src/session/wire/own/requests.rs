//! Each request in the words of the protocol, and its answer in ours.

use std::borrow::Cow;

use tokio::sync::oneshot;
use zkrecipes_protocol::{
    Acl, Code, CreateArgs, Op, ReadResult, Reply, Request, SubRead, SubWrite, WriteResult,
};

use super::Channel;
use super::session::{OwnSession, send};
use crate::hosts;
use crate::options::AclChoice;
use crate::session::clock::Moment;
use crate::session::wire::capability::is_counted;
use crate::session::wire::machine::{Letter, WatchSubject, refusal};
use crate::session::wire::*;

const ALL: i32 = 31;
/// Which list of a request that sets watches again has those on children.
const WATCHED_CHILDREN: usize = 2;

impl<C: Channel> OwnSession<C> {
    /// The path on the wire.
    fn full(&self, path: &str) -> String {
        match (&*self.chroot, path) {
            ("", path) => path.to_owned(),
            (chroot, "/") => chroot.to_owned(),
            (chroot, path) => format!("{chroot}{path}"),
        }
    }

    /// One part of a transaction.
    fn part<'a>(&self, write: &'a Write, acl: &AclChoice) -> SubWrite<'a> {
        match write {
            Write::Check { path, version } => {
                SubWrite::Check { path: self.full(path).into(), version: version.unwrap_or(-1) }
            }
            Write::Create { path, data, mode, acl: own } => {
                create(self.full(path), data, *mode, own.as_ref().unwrap_or(acl), self.is_basic())
            }
            Write::Set { path, data, version } => SubWrite::SetData {
                path: self.full(path).into(),
                data: Some(data),
                version: version.unwrap_or(-1),
            },
            Write::Delete { path, version } => {
                SubWrite::Delete { path: self.full(path).into(), version: version.unwrap_or(-1) }
            }
        }
    }

    fn transaction(
        &self,
        writes: &[Write],
        acl: &AclChoice,
        as_it_leaves: impl FnOnce(Letter) -> Letter,
    ) -> Flight<Vec<Applied>> {
        if self.is_basic() && writes.iter().filter_map(Write::mode).any(is_newer) {
            return unknown();
        }
        let (parts, chroot) =
            (writes.iter().map(|write| self.part(write, acl)).collect(), self.chroot.clone());
        let letter = as_it_leaves(Letter::of(&Request::Multi(parts)));
        let flight = send(&self.connection, letter, None).read(move |reply| match reply {
            Reply::Writes(results) => Some(applied(results, &chroot)),
            _ => None,
        });
        Box::pin(async move { flight.await? })
    }
}

impl<C: Channel> OwnSession<C> {
    /// Whether the server is asked for the basics alone.
    fn is_basic(&self) -> bool {
        is_counted(self.connection.seen.session_id())
    }

    /// Creates a node with a request that does not answer its stat, and reads that. If it cannot be read, nobody knows what became
    /// of the node.
    fn create_and_look(&self, write: &Request<'_>) -> Flight<Created> {
        let (connection, chroot) = (self.connection.clone(), self.chroot.clone());
        let created = self.ask(write, |reply| match reply {
            Reply::Path(path) => Some(path.into_owned()),
            _ => None,
        });
        Box::pin(async move {
            let path = created.await?;
            let looked =
                send(&connection, Letter::of(&Request::Exists { path: (&*path).into(), watch: false }), None);
            match looked.read(only_stat).await {
                Ok(stat) => Ok(Created { path: below(&chroot, &path), czxid: stat.czxid, stat: Some(stat) }),
                Err(WireError::SessionEnded) => Err(WireError::SessionEnded),
                Err(_) => Err(WireError::ConnectionLoss),
            }
        })
    }
}

fn flags(mode: CreateMode) -> (Op, i32) {
    match mode {
        CreateMode::Persistent => (Op::CREATE2, 0),
        CreateMode::Ephemeral => (Op::CREATE2, 1),
        CreateMode::PersistentSequential => (Op::CREATE2, 2),
        CreateMode::EphemeralSequential => (Op::CREATE2, 3),
        CreateMode::Container => (Op::CREATE_CONTAINER, 4),
        CreateMode::PersistentTtl(_) => (Op::CREATE_TTL, 5),
        CreateMode::PersistentSequentialTtl(_) => (Op::CREATE_TTL, 6),
    }
}

/// What only servers make that know more than the basics.
fn is_newer(mode: CreateMode) -> bool {
    mode == CreateMode::Container || mode.ttl().is_some()
}

/// As a server answers to what it does not know.
fn unknown<T: Send + 'static>() -> Flight<T> {
    Box::pin(std::future::ready(Err(WireError::Unimplemented)))
}

/// `is_basic` is for servers that know no create which answers with the node's stat.
fn create<'a>(
    path: String,
    data: &'a [u8],
    mode: CreateMode,
    acl: &AclChoice,
    is_basic: bool,
) -> SubWrite<'a> {
    let (op, flags) = flags(mode);
    let op = if is_basic { Op::CREATE } else { op };
    let ttl = mode.ttl().map_or(-1, |ttl| i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX));
    SubWrite::Create(CreateArgs {
        op,
        path: path.into(),
        data: Some(data),
        acl: access_list(acl),
        flags,
        ttl,
    })
}

fn access_list(choice: &AclChoice) -> Vec<Acl> {
    let one = |perms, scheme: &str, id: &str| Acl { perms, scheme: scheme.to_owned(), id: id.to_owned() };
    match choice {
        AclChoice::Default | AclChoice::Open => vec![one(ALL, "world", "anyone")],
        AclChoice::Creator => vec![one(ALL, "auth", "")],
        AclChoice::List(entries) => entries
            .iter()
            .map(|entry| one(permissions(&entry.permissions), &entry.scheme, &entry.id))
            .collect(),
    }
}

/// What may be done, a letter for each bit.
const LETTERS: &str = "rwcda";

fn permissions(letters: &str) -> i32 {
    letters.chars().filter_map(|letter| LETTERS.find(letter)).fold(0, |all, bit| all | 1 << bit)
}

fn letters(permissions: i32) -> String {
    let may = |bit: &(usize, char)| permissions & 1 << bit.0 != 0;
    LETTERS.chars().enumerate().filter(may).map(|(_, letter)| letter).collect()
}

fn is_nothing(reply: Reply<'_>) -> Option<()> {
    matches!(reply, Reply::Nothing).then_some(())
}

fn only_stat(reply: Reply<'_>) -> Option<Stat> {
    match reply {
        Reply::Stat(stat) => Some(stat),
        _ => None,
    }
}

fn data(reply: Reply<'_>) -> Option<(Vec<u8>, Stat)> {
    match reply {
        Reply::Data { data, stat } => Some((data.unwrap_or_default().into_owned(), stat)),
        _ => None,
    }
}

fn owned(names: Vec<Cow<'_, str>>) -> Vec<String> {
    names.into_iter().map(Cow::into_owned).collect()
}

fn names(reply: Reply<'_>) -> Option<Vec<String>> {
    match reply {
        Reply::Names(names) => Some(owned(names)),
        _ => None,
    }
}

fn names_and_stat(reply: Reply<'_>) -> Option<(Vec<String>, Stat)> {
    match reply {
        Reply::NamesAndStat { names, stat } => Some((owned(names), stat)),
        _ => None,
    }
}

/// The path below the chroot.
fn below(chroot: &str, path: &str) -> String {
    match path.strip_prefix(chroot).unwrap_or(path) {
        "" => "/".to_owned(),
        below => below.to_owned(),
    }
}

/// A node that is not there is an answer.
async fn if_any<T>(flight: impl Future<Output = Result<T, WireError>>) -> Result<Option<T>, WireError> {
    match flight.await {
        Ok(found) => Ok(Some(found)),
        Err(WireError::NoNode) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What became of each part, or the first that failed for a reason of its own.
fn applied(results: Vec<WriteResult<'_>>, chroot: &str) -> Result<Vec<Applied>, WireError> {
    let its_own = |code: i32| code != 0 && code != Code::RuntimeInconsistency as i32;
    let created =
        |path: &str, czxid| Applied::Created(Created { path: below(chroot, path), czxid, stat: None });
    let (mut all, mut others_failed) = (Vec::new(), false);
    for (index, result) in results.into_iter().enumerate() {
        match result {
            WriteResult::Created { path } => all.push(created(&path, -1)),
            WriteResult::CreatedStat { path, stat } => all.push(created(&path, stat.czxid)),
            WriteResult::Deleted => all.push(Applied::Deleted),
            WriteResult::Set(stat) => all.push(Applied::Set(stat)),
            WriteResult::Checked => all.push(Applied::Checked),
            WriteResult::Failed(code) if its_own(code) => {
                let error = refusal(code);
                // That is of no part: a leader that is about to end the session refuses what comes first. The quorum decided nothing.
                return Err(match error.is_unanswered() {
                    true => error,
                    false => WireError::Part { index, error: Box::new(error) },
                });
            }
            WriteResult::Failed(_) => others_failed = true,
        }
    }
    // Failed, and none for a reason of its own.
    if others_failed { Err(WireError::ConnectionLoss) } else { Ok(all) }
}

impl<C: Channel> Wire for OwnSession<C> {
    fn knows_what_left(&self) -> bool {
        true
    }

    fn session_id(&self) -> u64 {
        self.connection.seen.session_id()
    }

    fn session_timeout(&self) -> Duration {
        self.connection.seen.session_timeout()
    }

    fn asked(&self) -> Option<Moment> {
        Some(self.connection.seen.asked())
    }

    fn link(&self) -> Link {
        self.connection.link()
    }

    fn owes_since(&self) -> Option<Moment> {
        self.connection.seen.owes_since()
    }

    fn server(&self) -> Option<String> {
        self.connection.seen.words().server
    }

    fn cause(&self) -> Option<String> {
        self.connection.seen.words().cause
    }

    fn link_changed(&self, seen: Link) -> Later<()> {
        let connection = self.connection.clone();
        Box::pin(async move { connection.until(|link| link != seen).await })
    }

    fn update_hosts(&self, hosts: &str) {
        let servers = hosts::servers(hosts);
        self.connection.post(move |state, now| state.machine.update_servers(servers, now));
    }

    fn outlives_us(&self) -> Later<Option<SessionIdentity>> {
        let (answer, answered) = oneshot::channel();
        self.connection.post(|state, _| _ = answer.send(state.machine.outlives_us()));
        Box::pin(async move { answered.await.ok().flatten() })
    }

    fn close(&self) -> Later<()> {
        self.connection.post(|state, now| state.machine.close(now));
        self.connection.over()
    }

    fn create(&self, path: &str, data: &[u8], mode: CreateMode, acl: &AclChoice) -> Flight<Created> {
        let (chroot, is_basic) = (self.chroot.clone(), self.is_basic());
        if is_basic && is_newer(mode) {
            return unknown();
        }
        let write = Request::Write(create(self.full(path), data, mode, acl, is_basic));
        if is_basic {
            return self.create_and_look(&write);
        }
        self.ask(&write, move |reply| match reply {
            Reply::Created { path, stat } => {
                Some(Created { path: below(&chroot, &path), czxid: stat.czxid, stat: Some(stat) })
            }
            _ => None,
        })
    }

    fn delete_on(&self, generation: Option<u64>, path: &str, version: Option<i32>) -> Flight<()> {
        let (path, version) = (self.full(path).into(), version.unwrap_or(-1));
        self.ask_on(generation, &Request::Write(SubWrite::Delete { path, version }), is_nothing)
    }

    fn delete_in_order(&self, path: &str) -> Flight<()> {
        let request = Request::Write(SubWrite::Delete { path: self.full(path).into(), version: -1 });
        Box::pin(send(&self.connection, Letter::of(&request).in_order(), None).read(is_nothing))
    }

    fn exists(&self, path: &str) -> Flight<Option<Stat>> {
        let path = self.full(path).into();
        Box::pin(if_any(self.ask(&Request::Exists { path, watch: false }, only_stat)))
    }

    fn get_data(&self, path: &str) -> Flight<(Vec<u8>, Stat)> {
        let path = self.full(path).into();
        self.ask(&Request::GetData { path, watch: false }, data)
    }

    fn get_each(&self, paths: &[String]) -> Flight<Vec<Read>> {
        if self.is_basic() {
            return unknown();
        }
        let read = |path: &String| SubRead::GetData { path: self.full(path).into(), watch: false };
        self.ask(&Request::MultiRead(paths.iter().map(read).collect()), |reply| {
            let Reply::Reads(results) = reply else { return None };
            let each = |result| match result {
                ReadResult::Data { data, stat } => Some(Ok((data.unwrap_or_default().into_owned(), stat))),
                ReadResult::Failed(code) => Some(Err(refusal(code))),
                ReadResult::Names(_) => None,
            };
            results.into_iter().map(each).collect()
        })
    }

    fn set_data_on(
        &self,
        generation: Option<u64>,
        path: &str,
        data: &[u8],
        version: Option<i32>,
    ) -> Flight<Stat> {
        let (path, version) = (self.full(path).into(), version.unwrap_or(-1));
        let request = Request::Write(SubWrite::SetData { path, data: Some(data), version });
        self.ask_on(generation, &request, only_stat)
    }

    fn children(&self, path: &str) -> Flight<Vec<String>> {
        let path = self.full(path).into();
        self.ask(&Request::GetChildren { path, watch: false }, names)
    }

    fn children_and_stat(&self, path: &str) -> Flight<(Vec<String>, Stat)> {
        let path = self.full(path).into();
        self.ask(&Request::GetChildren2 { path, watch: false }, names_and_stat)
    }

    fn watch_data(&self, path: &str) -> Flight<(Vec<u8>, Stat, Watch)> {
        let path = self.full(path);
        let request = Request::GetData { path: (&*path).into(), watch: true };
        let (answer, watch) = self.ask_and_watch(&request, WatchSubject::Data, &path, data);
        Box::pin(async move { answer.await.map(|(data, stat)| (data, stat, watch)) })
    }

    fn watch_exists(&self, path: &str) -> Flight<(Option<Stat>, Watch)> {
        let path = self.full(path);
        let request = Request::Exists { path: (&*path).into(), watch: true };
        let (answer, watch) = self.ask_and_watch(&request, WatchSubject::Data, &path, only_stat);
        Box::pin(async move { if_any(answer).await.map(|found| (found, watch)) })
    }

    fn watch_children(&self, path: &str) -> Flight<(Vec<String>, Stat, Watch)> {
        let path = self.full(path);
        let request = Request::GetChildren2 { path: (&*path).into(), watch: true };
        let (answer, watch) = self.ask_and_watch(&request, WatchSubject::Children, &path, names_and_stat);
        Box::pin(async move { answer.await.map(|(names, stat)| (names, stat, watch)) })
    }

    fn follow_children(&self, path: &str) -> Option<Following> {
        self.follow(self.full(path))
    }

    fn watch_children_since(&self, path: &str, pzxid: i64) -> Flight<Watch> {
        // Some others do not raise the `pzxid` for what is deleted, or know no such request.
        if self.is_basic() {
            return unknown();
        }
        let path = self.full(path);
        // As after a reconnection. Servers do not mind that there was none.
        let mut lists = <[Vec<_>; 5]>::default();
        lists[WATCHED_CHILDREN].push(Cow::Borrowed(&*path));
        let request = Request::SetWatches { seen: pzxid, lists };
        let set = |reply: Reply<'_>| matches!(reply, Reply::Nothing).then_some(());
        let (answer, watch) = self.ask_and_watch(&request, WatchSubject::Children, &path, set);
        Box::pin(async move { answer.await.map(|()| watch) })
    }

    fn access_list(&self, path: &str) -> Flight<(Vec<AclEntry>, Stat)> {
        let path = self.full(path).into();
        self.ask(&Request::GetAcl { path }, |reply| {
            let Reply::Acl { acl, stat } = reply else { return None };
            let entry = |one: Acl| AclEntry::new(one.scheme, one.id, letters(one.perms));
            Some((acl.into_iter().map(entry).collect(), stat))
        })
    }

    fn sync(&self, path: &str) -> Flight<()> {
        let path = self.full(path).into();
        self.ask(&Request::Sync { path }, |reply| matches!(reply, Reply::Path(_)).then_some(()))
    }

    fn multi_on(&self, generation: Option<u64>, writes: &[Write], acl: &AclChoice) -> Flight<Vec<Applied>> {
        self.transaction(writes, acl, |letter| letter.on(generation))
    }

    fn multi_in_order(&self, writes: &[Write], acl: &AclChoice) -> Flight<Vec<Applied>> {
        self.transaction(writes, acl, Letter::in_order)
    }

    fn own_ephemerals(&self, path: &str) -> Flight<Vec<String>> {
        if self.is_basic() {
            return unknown();
        }
        let (path, chroot) = (path.to_owned(), self.chroot.clone());
        self.ask(&Request::GetEphemerals { prefix: self.full(&path).into() }, move |reply| {
            let Reply::Names(found) = reply else { return None };
            let found = found.iter().map(|node| self::below(&chroot, node));
            // The server goes by the first letters of the path, which others may share.
            let below = if path == "/" { path.clone() } else { format!("{path}/") };
            Some(found.filter(|node| *node == path || node.starts_with(&below)).collect())
        })
    }

    fn who_am_i(&self) -> Flight<Vec<String>> {
        if self.is_basic() {
            return unknown();
        }
        self.ask(&Request::WhoAmI, |reply| {
            let Reply::Identities(known) = reply else { return None };
            Some(known.iter().map(|(scheme, id)| format!("{scheme}:{id}")).collect())
        })
    }

    fn create_chroot(&self, acl: &AclChoice) -> Flight<()> {
        // Persistent: a chroot outlives its users. Each part of it leaves now; all but the last may be there already.
        let ends = self.chroot.match_indices('/').map(|(at, _)| at).skip(1).chain([self.chroot.len()]);
        let make = |end| {
            let part = self.chroot[..end].to_owned();
            let write = create(part, b"", CreateMode::Persistent, acl, self.is_basic());
            self.ask(&Request::Write(write), |_| Some(()))
        };
        let flights: Vec<_> = ends.filter(|end| *end > 0).map(make).collect();
        Box::pin(async move {
            for flight in flights {
                match flight.await {
                    Ok(()) | Err(WireError::NodeExists) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(codes: &[i32]) -> Result<Vec<Applied>, WireError> {
        applied(codes.iter().map(|code| WriteResult::Failed(*code)).collect(), "")
    }

    #[test]
    fn a_part_that_says_that_the_session_has_ended_says_so_of_the_transaction() {
        let others = Code::RuntimeInconsistency as i32;
        assert_eq!(answer(&[Code::SessionExpired as i32, others]), Err(WireError::SessionEnded));
        let missing = WireError::Part { index: 1, error: Box::new(WireError::NoNode) };
        assert_eq!(answer(&[0, Code::NoNode as i32, others]), Err(missing));
    }
}
