//! Keys of puts: within its window, the same key puts once, whoever puts with it.
//!
//! 1. A put with a key makes the node of the key in the transaction of its item: both are there, or none. It outlives the item.
//! 2. Whoever finds the key taken reads its node, which says when it was made, by the servers' clock, and for how long the key
//!    counts. Within that time the put is done, as the first one was. What that clock shows now is measured by a write; a time
//!    that was measured lately is only good for saying that the window has not passed: another server may lead, with another clock.
//! 3. A key whose window has passed is deleted, and then the put is tried again. The first one that makes the key anew has put.
//! 4. Keys are spread over buckets by their hash. A deletion also sets the bucket at the version that was read before the keys
//!    were: so nobody deletes a key that was made anew since. That it is the same bucket is proved by a child of it with a name
//!    like no other, which came with it.
//! 5. A bucket has the access list of the folder of the buckets, whoever makes it: who may put with keys may do so in each of them. Only
//!    where servers do not tell that list, or hide secrets in it, it has that of its maker. Keys have that of who puts, as items do.
//! 6. Who puts with keys also looks at a few buckets now and then, and deletes what has passed there: with the first key, and then
//!    so that it lists and reads a few keys for each one that it puts. A bucket that has long been empty goes, too. Where nobody puts
//!    with keys any more, who takes items does: see [`stale_keys`](super::stale_keys).
//!
//! ```text
//! P-__queue__/keys
//! └─ 3f                       a bucket: its version counts the deletions in it, its data names its proof
//!    ├─ _GUID                 the proof
//!    └─ 9a…                   the rest of the SHA-256 of a key; its data says the window in milliseconds, and the key
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rustls::SupportedCipherSuite;
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;

use super::layout::make_parent;
use super::room::{VERB, most_listed};
use crate::error::{Error, ErrorKind, Result};
use crate::futures::CompiledOnce;
use crate::mutex::lock;
use crate::options::{AclChoice, AclEntry, QueueOptions};
use crate::path;
use crate::recipes::servers_clock::ServersClock;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::clock::Moment;
use crate::session::once::{AppliedOnce, Marks};
use crate::session::random;
use crate::session::refusal::{Failure, refusal};
use crate::session::wire::{CreateMode, Stat, WireError, Write};

/// In bytes. A key goes over the wire with its put, and stands in its node.
const LONGEST_KEY: usize = 1000;
/// How many hexadecimal digits of a hash name the bucket. With 256 buckets a list of one is a third of a packet at a thousand puts a
/// second and a window of ten minutes, those included whose window has passed.
const OF_BUCKET: usize = 2;
const BUCKETS: usize = 1 << (4 * OF_BUCKET);
/// And of all of it.
const OF_HASH: usize = 64;
/// Before the name of what proves that a bucket is the same one.
const PROOF: char = '_';
/// How long a time that was measured says that a window has not passed.
const FRESH: Duration = Duration::from_secs(10);
/// How many keys are read and deleted together.
const AT_ONCE: usize = 200;
/// How many puts with keys come at least between two looks of one client, unless the last one was so long ago. Each bucket of a look
/// is for so many puts.
const LEAST_PUTS: usize = 8;
const LOOK_AFTER: Duration = Duration::from_secs(10);
/// How many buckets one look lists at most, and for how many puts it reads.
pub(super) const MOST_BUCKETS: usize = 32;
pub(super) const MOST_PUTS: usize = 1000;
/// How many keys are listed and read for each put. With two reads those whose window has passed are as many as the others at most;
/// where there are few keys, eight in each bucket.
const LISTED_PER_PUT: usize = 8;
pub(super) const READ_PER_PUT: usize = 2;
const LEAST_READ: usize = 64;
/// Of so many looks one begins anywhere, and not where something was put: nobody else comes to a bucket that is empty.
const ONE_ANYWHERE: usize = 8;
/// A bucket goes when it has been empty for so many windows.
const EMPTY_WINDOWS: u32 = 10;

/// The node of a key as a put with it makes it.
pub(super) fn write_of(root: &str, key: &str, window: Duration) -> Result<Write> {
    let problem = match key.len() {
        0 => "is empty; give what names this put, such as the id of a request, or leave it out".to_owned(),
        long if long > LONGEST_KEY => {
            format!("has {long} bytes; give at most {LONGEST_KEY}, such as a hash of what names this put")
        }
        _ if key.contains('\0') => "has a NUL; give text without one".to_owned(),
        _ => {
            let hash = hash(key);
            let (bucket, name) = hash.split_at(OF_BUCKET);
            let path = path::join(&path::join(root, bucket), name);
            let data = format!("{} {key}", window.as_millis()).into_bytes();
            return Ok(Write::Create { path, data, mode: CreateMode::Persistent, acl: None });
        }
    };
    Err(Error::invalid("key", problem))
}

/// SHA-256: nobody knows two keys that have the same one.
fn hash(key: &str) -> String {
    let SupportedCipherSuite::Tls13(suite) = TLS13_AES_128_GCM_SHA256 else {
        unreachable!("it is a suite of TLS 1.3")
    };
    let mut digits = String::with_capacity(OF_HASH);
    for byte in suite.common.hash_provider.hash(key.as_bytes()).as_ref() {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// A key that was found taken.
struct TakenKey {
    node: String,
    /// When it was made, in milliseconds by the servers' clock, and for how long it counts.
    made: i64,
    window: i64,
}

impl TakenKey {
    fn new(node: &str, data: &[u8], stat: &Stat) -> TakenKey {
        let said = std::str::from_utf8(data).ok().and_then(|data| data.split_once(' ')?.0.parse().ok());
        let window = said.unwrap_or_else(|| millis(QueueOptions::default().key_window));
        TakenKey { node: node.to_owned(), made: stat.ctime, window }
    }

    fn has_passed(&self, servers_now: i64) -> bool {
        servers_now.saturating_sub(self.made) >= self.window
    }
}

/// What became of keys whose window may have passed.
enum Forgotten {
    Done,
    /// Look again.
    Again,
    /// They can be deleted but for this one, below which somebody has made nodes.
    All(String),
}

/// Whether an error about a key is that of its put alone: a server has answered, and so it does to the others.
pub(super) fn is_of_one_put(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Denied | ErrorKind::Invalid | ErrorKind::TooLarge)
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// The error for a key that cannot be made.
pub(super) fn refused_key(error: WireError, key: &str) -> Error {
    if error != WireError::NoAuth {
        return refusal(error, VERB, key);
    }
    Error::new(
        ErrorKind::Denied,
        "the access list of the path, in which this key would be remembered, does not let this client put there: whoever made it has \
         another one; have READ, WRITE, CREATE and DELETE granted on it, and on its parent, from which the others have theirs",
    )
    .with_path(path::parent(key))
}

/// The error for a key that stands and cannot be read.
fn unreadable_key(error: WireError, key: &str) -> Error {
    if error != WireError::NoAuth {
        return refusal(error, VERB, key);
    }
    Error::new(
        ErrorKind::Denied,
        "somebody has put with this key, and its access list does not let this client read when; have READ granted on the path, and \
         give those who share keys an acl that lets each other read",
    )
    .with_path(key)
}

/// What one client knows of the keys of a queue.
pub(super) struct PutKeys {
    pub(super) root: String,
    marks: Arc<Marks>,
    clock: ServersClock,
    upkeep: Mutex<Upkeep>,
    /// Whether there are more of them than can be listed.
    is_crowded: AtomicBool,
}

/// When this client looks for keys whose window has passed.
pub(super) struct Upkeep {
    /// When it has looked last; how many puts there were since, and how many there are to be.
    pub(super) looked: Option<Moment>,
    puts: usize,
    due: usize,
    /// When it has looked last, or has begun, as one that takes items.
    pub(super) swept: Option<Moment>,
    pub(super) is_under_way: bool,
}

impl PutKeys {
    pub(super) fn new(root: &str, marks: &Arc<Marks>) -> Arc<PutKeys> {
        let upkeep = Upkeep { looked: None, puts: 0, due: LEAST_PUTS, swept: None, is_under_way: false };
        Arc::new(PutKeys {
            root: root.to_owned(),
            marks: marks.clone(),
            clock: ServersClock::default(),
            upkeep: Mutex::new(upkeep),
            is_crowded: AtomicBool::new(false),
        })
    }

    pub(super) fn upkeep(&self) -> MutexGuard<'_, Upkeep> {
        lock(&self.upkeep)
    }

    /// Whether a part of a transaction is about a key.
    pub(super) fn has(&self, part: &Write) -> bool {
        part.path().strip_prefix(&self.root).is_some_and(|rest| rest.starts_with('/'))
    }

    /// TooLarge where there are so many that they could not be listed any more.
    pub(super) fn check_room(self: &Arc<Self>, session: &Arc<Session>) -> Result<()> {
        if !self.is_crowded.load(Ordering::Relaxed) {
            return Ok(());
        }
        // It may be over.
        self.look_after(session, MOST_PUTS, &self.bucket());
        let message = "too large: more keys are remembered than anybody could list, because a server answers at most a packet; let \
                       some windows pass before you put with keys again, and give a shorter key_window";
        Err(Error::new(ErrorKind::TooLarge, message))
    }

    /// What is answered to the puts with these keys without an item: that they are done, where the key stands and its window has not
    /// passed; or that the key is not for us to look at. Where the window has passed the key is deleted.
    pub(super) async fn answers(
        &self,
        session: &Arc<Session>,
        call: &mut Call,
        nodes: &[String],
    ) -> Result<BTreeMap<String, Result<()>>> {
        let lately = self.clock.lately(session.now(), FRESH);
        let (mut answers, mut doubtful) = (BTreeMap::new(), Vec::new());
        for (node, read) in self.read(call, nodes).await? {
            match read {
                Ok(key) if lately.is_some_and(|now| !key.has_passed(now)) => _ = answers.insert(node, Ok(())),
                Ok(key) => doubtful.push(key),
                Err(error) => _ = answers.insert(node, Err(error)),
            }
        }
        if doubtful.is_empty() {
            return Ok(answers);
        }
        let (now, mut passed) = (self.servers_time(session, call).await?, BTreeMap::<_, Vec<_>>::new());
        for key in doubtful {
            match key.has_passed(now) {
                true => passed.entry(path::parent(&key.node).to_owned()).or_default().push(key.node),
                false => _ = answers.insert(key.node, Ok(())),
            }
        }
        for (bucket, nodes) in passed {
            match self.forget(session, call, &bucket, &nodes, now).await {
                Err(error) if is_of_one_put(&error) => {
                    answers.extend(nodes.into_iter().map(|node| (node, Err(error.clone()))));
                }
                stuck => {
                    let refused = |node: &String| Err(refusal(WireError::NotEmpty, VERB, node));
                    answers.extend(stuck?.into_iter().map(|node| (node.clone(), refused(&node))));
                }
            }
        }
        Ok(answers)
    }

    /// Those that stand.
    async fn read(&self, call: &mut Call, nodes: &[String]) -> Result<Vec<(String, Result<TakenKey>)>> {
        'again: loop {
            let server_session = call.server_session(VERB).await?;
            let mut found = Vec::new();
            for (node, read) in nodes.iter().zip(server_session.get_each(nodes)) {
                let key = match call.receive(VERB, read).await? {
                    Ok((data, stat)) => Ok(TakenKey::new(node, &data, &stat)),
                    Err(WireError::NoNode) => continue,
                    Err(error) if error.is_unanswered() => {
                        call.retry_after_loss(VERB).await?;
                        continue 'again;
                    }
                    Err(error) => Err(unreadable_key(error, node)),
                };
                found.push((node.clone(), key));
            }
            return Ok(found);
        }
    }

    /// What the servers' clock shows, by a write that is made for it.
    async fn servers_time(&self, session: &Arc<Session>, call: &mut Call) -> Result<i64> {
        // The answer may come long after the write. As of before it, what the clock shows is never too early.
        let began = session.now();
        let written = self.marks.servers_time(session, call, VERB).await?;
        self.clock.shows(written, began);
        Ok(written)
    }

    /// Deletes those of these keys of a bucket whose window has passed. Answers those that cannot be, since somebody has made nodes
    /// below them.
    fn forget<'a>(
        &'a self,
        session: &'a Arc<Session>,
        call: &'a mut Call,
        bucket: &'a str,
        nodes: &'a [String],
        servers_now: i64,
    ) -> CompiledOnce<'a, Result<Vec<String>>> {
        Box::pin(self.forget_all(session, call, bucket, nodes, servers_now))
    }

    async fn forget_all(
        &self,
        session: &Arc<Session>,
        call: &mut Call,
        bucket: &str,
        nodes: &[String],
        servers_now: i64,
    ) -> Result<Vec<String>> {
        let mut stuck = Vec::new();
        for some in nodes.chunks(AT_ONCE) {
            let mut left = some.to_vec();
            loop {
                match self.forget_some(session, call, bucket, &left, servers_now).await? {
                    Forgotten::Done => break,
                    Forgotten::Again => {}
                    Forgotten::All(but) => {
                        left.retain(|node| *node != but);
                        stuck.push(but);
                    }
                }
            }
        }
        Ok(stuck)
    }

    /// The same of so many as go together.
    async fn forget_some(
        &self,
        session: &Arc<Session>,
        call: &mut Call,
        bucket: &str,
        nodes: &[String],
        servers_now: i64,
    ) -> Result<Forgotten> {
        let (server_session, on) = call.connection(VERB).await?;
        // In one flight, and the bucket first: who deletes one of these keys after that sets it.
        let (bucket_read, reads) = (server_session.get_data(bucket), server_session.get_each(nodes));
        let bucket_read = call.receive(VERB, bucket_read).await?;
        let (mut writes, mut is_lost) = (Vec::new(), false);
        for (node, read) in nodes.iter().zip(reads) {
            match call.receive(VERB, read).await? {
                Ok((data, stat)) if TakenKey::new(node, &data, &stat).has_passed(servers_now) => {
                    writes.push(Write::Delete { path: node.clone(), version: None });
                }
                Err(error) if error.is_unanswered() => is_lost = true,
                // It counts, it is gone, or nobody may read it.
                Ok(_) | Err(_) => {}
            }
        }
        let (said, stat) = match bucket_read {
            Ok(read) if !is_lost && server_session.connection() == Some(on) => read,
            Err(WireError::NoNode) => return Ok(Forgotten::Done),
            Err(error) if !error.is_unanswered() => return Err(refusal(error, VERB, bucket)),
            _ => return call.retry_after_loss(VERB).await.map(|()| Forgotten::Again),
        };
        if writes.is_empty() {
            return Ok(Forgotten::Done);
        }
        writes.splice(0..0, same_bucket(bucket, said, &stat));
        match self.marks.apply_seen(session, call, VERB, &writes, on).await? {
            Some(AppliedOnce::Applied) => Ok(Forgotten::Done),
            // Somebody has deleted its proof; or the bucket is another one by now.
            Some(AppliedOnce::Refused(0, WireError::NoNode)) => {
                self.prove_anew(call, bucket, stat.version).await.map(|()| Forgotten::Again)
            }
            // Somebody else has deleted some of them.
            None | Some(AppliedOnce::Refused(_, WireError::BadVersion | WireError::NoNode)) => {
                Ok(Forgotten::Again)
            }
            Some(AppliedOnce::Refused(part, WireError::NotEmpty)) => {
                Ok(Forgotten::All(writes[part].path().to_owned()))
            }
            Some(AppliedOnce::Refused(_, error)) => Err(refusal(error, VERB, bucket)),
        }
    }

    /// Gives the bucket of that version a proof again. Asks once, and pauses; the caller looks again.
    async fn prove_anew(&self, call: &mut Call, bucket: &str, version: i32) -> Result<()> {
        let proof = format!("{PROOF}{}", random::guid().hyphenated());
        let (path, data) = (path::join(bucket, &proof), Vec::new());
        let acl = self.access_of_buckets(call).await?;
        let writes = [
            Write::Create { path, data, mode: CreateMode::Persistent, acl },
            Write::Set { path: bucket.to_owned(), data: proof.into_bytes(), version: Some(version) },
        ];
        let server_session = call.server_session(VERB).await?;
        match call.receive(VERB, server_session.multi(&writes)).await? {
            Ok(_) => return Ok(()),
            // It has changed.
            Err(WireError::Part { error, .. })
                if matches!(*error, WireError::BadVersion | WireError::NoNode) => {}
            Err(error) if error.is_unanswered() => {}
            Err(WireError::Part { error, .. }) => return Err(refusal(*error, VERB, bucket)),
            Err(error) => return Err(refusal(error, VERB, bucket)),
        }
        call.retry_after_loss(VERB).await
    }

    /// Makes the bucket of a key that is missing. Asks once; the caller tries again what it was for.
    pub(super) async fn make_bucket(&self, call: &mut Call, key: &str) -> Result<()> {
        let (bucket, proof) = (path::parent(key), format!("{PROOF}{}", random::guid().hyphenated()));
        let acl = self.access_of_buckets(call).await?;
        let create =
            |path, data| Write::Create { path, data, mode: CreateMode::Persistent, acl: acl.clone() };
        let writes = [
            create(bucket.to_owned(), proof.clone().into_bytes()),
            create(path::join(bucket, &proof), Vec::new()),
        ];
        let server_session = call.server_session(VERB).await?;
        let missing = match call.receive(VERB, server_session.multi(&writes)).await? {
            Ok(_) => return Ok(()),
            Err(WireError::Part { error, .. }) => *error,
            Err(error) => error,
        };
        match missing {
            // Somebody was faster.
            WireError::NodeExists => Ok(()),
            WireError::NoNode => make_parent(call, VERB, &self.root, CreateMode::Container).await,
            error => call.retry_or_refuse(error, VERB, bucket).await,
        }
    }

    /// The access list of the folder of the buckets, for one that is made there; `None` for that of this client.
    async fn access_of_buckets(&self, call: &mut Call) -> Result<Option<AclChoice>> {
        if call.session().options().access() == AclChoice::Open {
            return Ok(None);
        }
        // To who may not change a list, servers tell this in the place of the secret.
        let is_hidden = |entry: &AclEntry| entry.scheme == "digest" && entry.id.ends_with(":x");
        match call.ask(VERB, |server| server.access_list(&self.root)).await {
            Ok(list) if !list.is_empty() && !list.iter().any(is_hidden) => Ok(Some(AclChoice::List(list))),
            Ok(_) | Err(Failure::Refused(_)) => Ok(None),
            Err(failure) => Err(failure.about(VERB, &self.root)),
        }
    }

    /// So many were put with keys, one of them into that bucket. Now and then some are looked at, in the background; closing waits
    /// for it.
    pub(super) fn look_after(self: &Arc<Self>, session: &Arc<Session>, puts: usize, bucket: &str) {
        let (puts, now) = {
            let (mut upkeep, now) = (self.upkeep(), session.now());
            upkeep.puts = upkeep.puts.saturating_add(puts).min(MOST_PUTS);
            let is_long_ago = upkeep.looked.is_none_or(|looked| now.since(looked) >= LOOK_AFTER);
            if upkeep.is_under_way || !(is_long_ago || upkeep.puts >= upkeep.due) {
                return;
            }
            upkeep.is_under_way = true;
            (std::mem::take(&mut upkeep.puts), now)
        };
        let (looking, about) = (UnderUpkeep(self.clone()), session.clone());
        let bucket = if random::below(ONE_ANYWHERE) == 0 { self.bucket() } else { bucket.to_owned() };
        let work = async move {
            let mut call = about.call(None).outlasting();
            // What could not be looked at is looked at another time.
            let listed = looking.0.look(&about, &mut call, bucket, puts).await.unwrap_or(0);
            let mut upkeep = looking.0.upkeep();
            upkeep.due = LEAST_PUTS.max(listed / LISTED_PER_PUT);
            upkeep.looked = Some(now);
        };
        drop(session.server_session().in_background(work));
    }

    /// Any.
    fn bucket(&self) -> String {
        path::join(&self.root, &format!("{:0OF_BUCKET$x}", random::below(BUCKETS)))
    }

    /// Looks at this bucket and others, for so many puts; answers how many keys it has listed.
    async fn look(
        &self,
        session: &Arc<Session>,
        call: &mut Call,
        mut bucket: String,
        puts: usize,
    ) -> Result<usize> {
        let (mut listed, mut to_read) = (0, LEAST_READ.max(puts * READ_PER_PUT));
        let mut now = None;
        for _ in 0..(puts / LEAST_PUTS).clamp(1, MOST_BUCKETS) {
            let (found, read) = self.look_at(session, call, &bucket, to_read, &mut now).await?;
            (listed, to_read) = (listed + found, to_read - read);
            if to_read == 0 {
                break;
            }
            bucket = self.bucket();
        }
        Ok(listed)
    }

    /// Looks at one, at the time that the servers' clock shows `now`, which is asked once; answers how many keys it has listed and
    /// read, of so many at most.
    pub(super) async fn look_at(
        &self,
        session: &Arc<Session>,
        call: &mut Call,
        bucket: &str,
        most: usize,
        now: &mut Option<i64>,
    ) -> Result<(usize, usize)> {
        let (names, stat) = match call.ask(VERB, |server| server.children_and_stat(bucket)).await {
            Ok(found) => found,
            Err(Failure::Refused(WireError::NoNode)) => return Ok((0, 0)),
            Err(failure) => return Err(failure.about(VERB, bucket)),
        };
        let listed = names.len();
        self.is_crowded.store(listed > most_listed(OF_HASH - OF_BUCKET), Ordering::Relaxed);
        let now = match *now {
            Some(now) => now,
            None => *now.insert(self.servers_time(session, call).await?),
        };
        Ok((listed, self.tidy(session, call, bucket, names, &stat, (most, now)).await?))
    }

    /// Deletes what has passed of a bucket with these children, by what the servers' clock shows; answers how many keys it has read,
    /// of so many at most.
    async fn tidy(
        &self,
        session: &Arc<Session>,
        call: &mut Call,
        bucket: &str,
        mut names: Vec<String>,
        stat: &Stat,
        (most, now): (usize, i64),
    ) -> Result<usize> {
        names.retain(|name| !name.starts_with(PROOF));
        if names.is_empty() {
            self.remove_if_long_empty(session, call, bucket, stat, now).await?;
            return Ok(0);
        }
        // Of many anybody's turn comes.
        let first = random::below(names.len());
        names.rotate_left(first);
        let nodes: Vec<_> = names.iter().take(most).map(|name| path::join(bucket, name)).collect();
        self.forget(session, call, bucket, &nodes, now).await?;
        Ok(nodes.len())
    }

    async fn remove_if_long_empty(
        &self,
        session: &Arc<Session>,
        call: &mut Call,
        bucket: &str,
        stat: &Stat,
        servers_now: i64,
    ) -> Result<()> {
        let enough = millis(QueueOptions::default().key_window.saturating_mul(EMPTY_WINDOWS));
        if servers_now.saturating_sub(stat.mtime) < enough {
            return Ok(());
        }
        let (server_session, on) = call.connection(VERB).await?;
        let Ok((said, stat)) = call.receive(VERB, server_session.get_data(bucket)).await? else {
            return Ok(());
        };
        let delete = |path, version| Write::Delete { path, version };
        let proof = path::join(bucket, &String::from_utf8_lossy(&said));
        let writes = [delete(proof, None), delete(bucket.to_owned(), Some(stat.version))];
        // Refused, it is in use again.
        self.marks.apply_seen(session, call, VERB, &writes, on).await.map(drop)
    }
}

/// What proves that a bucket is the one that said that, and that nothing of it was deleted since.
fn same_bucket(bucket: &str, said: Vec<u8>, stat: &Stat) -> [Write; 2] {
    let proof = path::join(bucket, &String::from_utf8_lossy(&said));
    [
        Write::Check { path: proof, version: None },
        Write::Set { path: bucket.to_owned(), data: said, version: Some(stat.version) },
    ]
}

/// A look that is under way, also if it ends by a panic or with its session.
pub(super) struct UnderUpkeep(pub(super) Arc<PutKeys>);

impl Drop for UnderUpkeep {
    fn drop(&mut self) {
        self.0.upkeep().is_under_way = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(600);

    #[test]
    fn the_node_of_a_key_is_named_by_its_hash_and_says_the_window_and_the_key() {
        let write = write_of("/q-__queue__/keys", "abc", WINDOW).expect("valid");
        let expected = "/q-__queue__/keys/ba/7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(write.path(), expected);
        let Write::Create { data, mode: CreateMode::Persistent, .. } = write else { panic!("{write:?}") };
        assert_eq!(data, b"600000 abc");
    }

    #[test]
    fn a_key_counts_for_the_time_that_its_put_gave() {
        let stat = Stat { ctime: 1000, ..Stat::default() };
        let key = TakenKey::new("/k", b"500 a b", &stat);
        assert!(!key.has_passed(1499) && key.has_passed(1500) && !key.has_passed(0));
        let of_others = TakenKey::new("/k", b"what", &stat);
        assert!(!of_others.has_passed(600_999) && of_others.has_passed(601_000));
    }

    #[test]
    fn what_is_no_key_is_refused_with_what_to_do() {
        let long = "x".repeat(LONGEST_KEY + 1);
        for (key, says) in [("", "leave it out"), (&*long, "a hash"), ("a\0b", "NUL")] {
            let error = write_of("/k", key, WINDOW).expect_err("no key");
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains("key") && error.to_string().contains(says), "{error}");
        }
        for key in ["x", "ä/\u{1}\u{1f600} b", &long[1..]] {
            write_of("/k", key, WINDOW).expect("valid");
        }
    }
}
