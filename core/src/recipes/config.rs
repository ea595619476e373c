//! A value that many follow: one node, whose data is the value and whose version counts the changes.
//!
//! 1. Reading is one read behind a `sync`, sent together: whoever was told of a change finds it. A missing node is no value.
//! 2. Setting replaces the data; the first to set creates the node, and what is missing above it, to stay.
//! 3. Setting with a version is applied only while the value has that version. A write takes the version −1 for any, so no value
//!    of ours is left at that one.
//!    Creating is applied only while there is none.
//! 4. Following is a watch on the node, also while it is missing. A follower is told the latest value.
//! 5. A lost answer to these is resolved by a look at what is there once the quorum has decided: a value with the same bytes as
//!    ours and with the version that ours would have is ours.
//! 6. Updating reads, calls the user's function, and sets if the version is still the one that was read; else once more. Two
//!    who make the same of the same value have not made it once: so this set goes in one transaction with a mark of the client,
//!    which tells after a lost answer whose it was (see `session::once`). The marks are below `P-__config__`, since what is
//!    below P is the user's.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::feed::{Feed, Source};
use crate::mutex::lock;
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::clock::Moment;
use crate::session::once::{AppliedOnce, Marks};
use crate::session::open_parents;
use crate::session::refusal::refusal;
use crate::session::server_session::ServerSession;
use crate::session::watching::standing::Standings;
use crate::session::watching::{Data, StateId, Watchable, Watching};
use crate::session::wire::{CreateMode, Flight, Stat, WireError, Write};

impl Client {
    /// A handle on the value at `path`. Does no I/O.
    pub fn config(&self, path: &str) -> Result<Config> {
        self.session_for_handle()?;
        path::recipe(path)?;
        let marks = Marks::at(path, format!("{path}-__config__"));
        Ok(Config { client: self.clone(), path: Arc::from(path), cache: Cache::default(), marks })
    }
}

/// A value at a path, shared with everybody who reads or sets it, in any language. Clones are the same handle.
///
/// ```
/// # zkrecipes::doctest(async {
/// use zkrecipes::{Client, ErrorKind};
///
/// let client = Client::connect("embedded:", Default::default()).await?;
/// let config = client.config("/config/mode")?;
/// assert_eq!(config.get().await?, None);
/// assert_eq!(config.set(b"blue", None).await?, 0, "created");
/// let now = config.get().await?.expect("set");
/// assert_eq!(config.set(b"green", Some(now.version)).await?, 1);
/// let late = config.set(b"red", Some(now.version)).await.expect_err("somebody was first");
/// assert_eq!(late.kind(), ErrorKind::BadVersion);
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct Config {
    client: Client,
    path: Arc<str>,
    cache: Cache,
    marks: Arc<Marks>,
}

/// A value and how often it has been changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Versioned {
    /// The value.
    pub value: Vec<u8>,
    /// 0 when the value was created, one more with every change of it.
    pub version: i32,
}

impl Versioned {
    /// What was set where that version was, or where there was none.
    pub(crate) fn after(version: Option<i32>, value: Vec<u8>) -> Versioned {
        Versioned { value, version: version_set(version) }
    }
}

/// What was known last, without asking anybody: [`Config::cached`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cached {
    /// The value, or `None` where there was none.
    pub value: Option<Versioned>,
    /// How old this may be: so long ago, for certain, it was still so. While a feed of the handle is open, nothing has changed,
    /// and servers answer, it stays below half of the session timeout, though nobody asks for the value again: they tell of a
    /// change before they answer anything else. Otherwise it counts from when the value was asked for.
    pub age: Duration,
}

impl Config {
    const GET: &'static str = "get";
    const SET: &'static str = "set";
    const CREATE: &'static str = "create";
    const UPDATE: &'static str = "update";
    const COMPARE: &'static str = "compare_and_set";

    /// The path of the value.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value, no older than this call, or `None` if nobody has set it. Retried within the retry budget.
    pub async fn get(&self) -> Result<Option<Versioned>> {
        self.read(Config::GET).await
    }

    async fn read(&self, verb: &str) -> Result<Option<Versioned>> {
        let session = self.client.session()?;
        let mut call = session.call(None).reading();
        let path = &*self.path;
        let (asked, answer) = call
            .ask(verb, |server| {
                let (server, asked) = (server.clone(), session.now());
                async move {
                    match server.as_of_now(path, || server.get_data(path)).await {
                        Ok(found) => Ok((asked, Some(found))),
                        Err(WireError::NoNode) => Ok((asked, None)),
                        Err(error) => Err(error),
                    }
                }
            })
            .await
            .map_err(|failure| failure.about(verb, path))?;
        Ok(self.cache.keep(asked, answer))
    }

    /// Sets the value, if it has that version; `None` for whichever it has, or none at all. Answers the new version.
    ///
    /// BadVersion: somebody has changed it since. NoNode: there is no value that could have a version. A lost answer is
    /// resolved by looking; ConnectionLost says that it could not be, and that the value may or may not have been set.
    /// (Should somebody else have set the very same value at the same moment, that counts as ours.)
    pub async fn set(&self, value: &[u8], version: Option<i32>) -> Result<i32> {
        let about = |error: Error| error.with_path(&*self.path);
        let negative = || {
            let why = "is negative, which its version is not; leave it out to set whatever the value is";
            about(Error::invalid("version", why))
        };
        if version == Some(ANY) {
            return Err(negative());
        }
        let session = self.client.session()?;
        let mut call = session.call(None);
        call.comes_behind(Config::SET, session.take_queueing_turn(&self.path)).await.map_err(about)?;
        let (verb, before) = (Config::SET, self.cached().and_then(|cached| cached.value));
        let was_negative = before.as_ref().is_some_and(|before| before.version < 0);
        let setting = Setting { verb, session: &session, path: &self.path, value, version, before };
        let set = setting.apply(&mut call).await.map_err(about);
        // After 2^31 changes versions are negative.
        if version.is_some_and(|version| version < 0)
            && !was_negative
            && set
                .as_ref()
                .is_err_and(|error| matches!(error.kind(), ErrorKind::BadVersion | ErrorKind::NoNode))
            && self.get().await?.is_none_or(|now| now.version >= 0)
        {
            return Err(negative());
        }
        set
    }

    /// Sets the value if nobody has set it yet, and answers its version, which is 0. Exists: there is one.
    ///
    /// A lost answer is resolved by looking; ConnectionLost says that it could not be, and that the value may or may not have been
    /// set. (Should the answer be lost and the very same value be there that nobody has changed, that counts as ours.)
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// use zkrecipes::{Client, ErrorKind};
    ///
    /// let client = Client::connect("embedded:", Default::default()).await?;
    /// let config = client.config("/config/region")?;
    /// assert_eq!(config.create(b"north").await?, 0);
    /// let late = config.create(b"south").await.expect_err("somebody was first");
    /// assert_eq!(late.kind(), ErrorKind::Exists);
    /// # Ok(()) });
    /// ```
    pub async fn create(&self, value: &[u8]) -> Result<i32> {
        let session = self.client.session()?;
        let about = |error: Error| error.with_path(&*self.path);
        let mut call = session.call(None);
        call.comes_behind(Config::CREATE, session.take_queueing_turn(&self.path)).await.map_err(about)?;
        let (verb, before) = (Config::CREATE, self.cached().and_then(|cached| cached.value));
        let setting = Setting { verb, session: &session, path: &self.path, value, version: None, before };
        setting.create(&mut call).await.map_err(about)
    }

    /// Replaces the value by what `change` makes of it: reads, calls, sets if nobody has changed it meanwhile, else once more with
    /// what is there then. `change` gets `None` where nobody has set it. Answers what was set.
    ///
    /// Each change is made once, also where an answer got lost; ConnectionLost says that nobody can know whether it was made.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # use zkrecipes::Client;
    /// # let client = Client::connect("embedded:", Default::default()).await?;
    /// let config = client.config("/config/hosts")?;
    /// let with = |hosts: Option<&[u8]>, host: &str| [hosts.unwrap_or_default(), host.as_bytes()].concat();
    /// config.update(|hosts| with(hosts, "a ")).await?;
    /// let now = config.update(|hosts| with(hosts, "b ")).await?;
    /// assert_eq!((&*now.value, now.version), (&b"a b "[..], 1));
    /// # Ok(()) });
    /// ```
    pub async fn update(&self, mut change: impl FnMut(Option<&[u8]>) -> Vec<u8>) -> Result<Versioned> {
        self.try_update(|value| Ok(change(value))).await
    }

    /// The same with a change that may fail: then nothing is set.
    pub async fn try_update<E: From<Error>>(
        &self,
        mut change: impl FnMut(Option<&[u8]>) -> Result<Vec<u8>, E>,
    ) -> Result<Versioned, E> {
        loop {
            let before = self.read(Config::UPDATE).await?;
            let value = change(before.as_ref().map(|before| &*before.value))?;
            let version = before.map(|before| before.version);
            if self.compare_and_set(&value, version).await? {
                return Ok(Versioned::after(version, value));
            }
        }
    }

    /// Sets the value if it still has that version, or if there still is none, for `None`; answers whether it did. This is one
    /// step of [`Config::update`]. Applied once, also where the answer got lost; ConnectionLost says that nobody can know
    /// whether it was.
    pub async fn compare_and_set(&self, value: &[u8], version: Option<i32>) -> Result<bool> {
        let (path, verb) = (&*self.path, Config::COMPARE);
        let about = |error: Error| error.with_path(path);
        if version == Some(ANY) {
            return Err(about(Error::invalid("version", "is -1, which no server compares; use set")));
        }
        let session = self.client.session()?;
        let mut call = session.call(None);
        call.comes_behind(verb, session.take_queueing_turn(path)).await.map_err(about)?;
        let writes = match version {
            Some(version) => sets(path, value, version),
            None => {
                let (path, data, mode) = (path.to_owned(), value.to_vec(), CreateMode::Persistent);
                vec![Write::Create { path, data, mode, acl: None }]
            }
        };
        loop {
            let server_session = call.server_session(verb).await?;
            let parent = path::parent(&self.path);
            open_parents::look(&session, &server_session, &mut call, verb, parent).await?;
            let refused = match self.marks.apply(&session, &mut call, verb, &writes).await.map_err(about)? {
                AppliedOnce::Applied => return Ok(true),
                AppliedOnce::Refused(_, refused) => refused,
            };
            match refused {
                WireError::BadVersion | WireError::NodeExists => return Ok(false),
                // Deleted since; or what is missing is above it.
                WireError::NoNode if version.is_some() => return Ok(false),
                WireError::NoNode => {
                    call.make_path(verb, &server_session, parent, CreateMode::Persistent).await?;
                }
                error => return Err(refusal(error, verb, &self.path)),
            }
        }
    }

    /// The value now, and whenever it has changed: always the latest, `None` where there is none.
    pub fn watch(&self) -> Feed<Option<Versioned>> {
        let watching = self.client.session().map(|session| {
            session.watch_node("watch", &self.path).current().standing(self.cache.standings.add())
        });
        Feed::new(FollowedConfig { watching, cache: self.cache.clone() })
    }

    /// What this handle has been told last, and how old that may be, by a feed of it or by `get`, without asking anybody. `None` before that.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # use zkrecipes::Client;
    /// # let client = Client::connect("embedded:", Default::default()).await?;
    /// let config = client.config("/config/cached")?;
    /// assert_eq!(config.cached(), None);
    /// config.get().await?;
    /// assert_eq!(config.cached().expect("asked").value, None);
    /// # Ok(()) });
    /// ```
    pub fn cached(&self) -> Option<Cached> {
        let session = self.client.session().ok()?;
        self.cache.look(&session)
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("path", &self.path).finish_non_exhaustive()
    }
}

/// What was told last, and what is known of it since.
#[derive(Clone, Default)]
struct Cache {
    last: Arc<Mutex<Option<LastTold>>>,
    standings: Arc<Standings>,
}

struct LastTold {
    asked: Moment,
    mark: Option<StateId>,
    value: Option<Versioned>,
}

impl Cache {
    fn keep(&self, asked: Moment, found: Option<(Vec<u8>, Stat)>) -> Option<Versioned> {
        let seen = Data(found);
        let mark = seen.mark();
        let value = seen.0.map(|(value, stat)| Versioned { value, version: stat.version });
        let mut last = self.last();
        if last.as_ref().is_none_or(|before| before.asked <= asked) {
            *last = Some(LastTold { asked, mark, value: value.clone() });
        }
        value
    }

    fn look(&self, session: &Session) -> Option<Cached> {
        let last = self.last();
        let told = last.as_ref()?;
        let (mark, asked, value) = (told.mark, told.asked, told.value.clone());
        drop(last);
        let stood = self.standings.stood(session, mark).map_or(asked, |stood| stood.max(asked));
        Some(Cached { value, age: session.now().since(stood) })
    }

    fn last(&self) -> MutexGuard<'_, Option<LastTold>> {
        lock(&self.last)
    }
}

struct FollowedConfig {
    watching: Result<Watching<Data>>,
    cache: Cache,
}

impl Source<Option<Versioned>> for FollowedConfig {
    async fn next(&mut self) -> Result<Option<Versioned>> {
        let watching = self.watching.as_mut().map_err(|error| error.clone())?;
        let Data(found) = watching.next().await?;
        Ok(self.cache.keep(watching.asked(), found))
    }
}

/// One call of `set` or `create`.
struct Setting<'a> {
    verb: &'static str,
    session: &'a Arc<Session>,
    path: &'a str,
    value: &'a [u8],
    version: Option<i32>,
    /// What was there before, as far as this handle knows.
    before: Option<Versioned>,
}

/// The version that a write takes for any: a value that had it could not be set with its version.
const ANY: i32 = -1;

/// The version behind that one. What we set is not left at [`ANY`].
fn version_after(version: i32) -> i32 {
    match version.wrapping_add(1) {
        ANY => ANY + 1,
        next => next,
    }
}

/// The version of what is set where that one was, or where there was no value.
pub(crate) fn version_set(version: Option<i32>) -> i32 {
    version.map_or(0, version_after)
}

/// What sets the value where it has that version, in one transaction.
fn sets(path: &str, value: &[u8], version: i32) -> Vec<Write> {
    let set = |data: &[u8], version| Write::Set {
        path: path.to_owned(),
        data: data.to_vec(),
        version: Some(version),
    };
    match version.wrapping_add(1) {
        // Of the first nobody sees anything.
        ANY => vec![set(b"", version), set(value, ANY)],
        _ => vec![set(value, version)],
    }
}

impl Setting<'_> {
    /// Answers the version.
    fn set(&self, server_session: &Arc<ServerSession>) -> Flight<i32> {
        let Some(version) = self.version.filter(|version| version.wrapping_add(1) == ANY) else {
            let set = server_session.set_data(self.path, self.value, self.version);
            return Box::pin(async move { set.await.map(|stat| stat.version) });
        };
        let both = server_session.multi(&sets(self.path, self.value, version));
        Box::pin(async move {
            match both.await {
                Ok(_) => Ok(version_after(version)),
                Err(WireError::Part { error, .. }) => Err(*error),
                Err(error) => Err(error),
            }
        })
    }

    async fn apply(&self, call: &mut Call) -> Result<i32> {
        let mut creates = false;
        loop {
            let server_session = call.server_session(self.verb).await?;
            let parent = path::parent(self.path);
            let answer = if creates {
                open_parents::look(self.session, &server_session, call, self.verb, parent).await?;
                let created = server_session.create(self.path, self.value, CreateMode::Persistent);
                call.receive(self.verb, created).await?.map(|_| 0)
            } else {
                open_parents::look_once(self.session, &server_session, call, self.verb, parent).await?;
                call.receive(self.verb, self.set(&server_session)).await?
            };
            match answer {
                // Once more, whatever it is by now: it cannot stay like this.
                Ok(ANY) => {}
                Ok(version) => return Ok(version),
                Err(WireError::NoNode) if creates => self.prepare(&server_session, call).await?,
                Err(WireError::NoNode) if self.version.is_none() => creates = true,
                // Somebody was first; then it is there to be set.
                Err(WireError::NodeExists) => creates = false,
                Err(error) if error.is_unanswered() => match self.resolve(call, creates).await? {
                    None | Some(ANY) => {}
                    Some(version) => return Ok(version),
                },
                Err(error) => return Err(refusal(error, self.verb, self.path)),
            }
        }
    }

    async fn create(&self, call: &mut Call) -> Result<i32> {
        loop {
            let server_session = call.server_session(self.verb).await?;
            open_parents::look(self.session, &server_session, call, self.verb, path::parent(self.path))
                .await?;
            let created = server_session.create(self.path, self.value, CreateMode::Persistent);
            match call.receive(self.verb, created).await? {
                Ok(_) => return Ok(0),
                Err(WireError::NoNode) => self.prepare(&server_session, call).await?,
                Err(error) if error.is_unanswered() => match self.look_behind(call).await? {
                    // Ours was never there, or somebody has deleted it since.
                    None => {}
                    Some((value, stat)) if stat.version == 0 && value == self.value => return Ok(0),
                    Some((value, stat)) if stat.version == 0 || self.is_as_before(&value, stat.version) => {
                        return Err(refusal(WireError::NodeExists, self.verb, self.path));
                    }
                    Some(_) => return Err(unknown(self.verb)),
                },
                Err(error) => return Err(refusal(error, self.verb, self.path)),
            }
        }
    }

    async fn prepare(&self, server_session: &Arc<ServerSession>, call: &mut Call) -> Result<()> {
        let parent = path::parent(self.path);
        call.make_path(self.verb, server_session, parent, CreateMode::Persistent).await.map(drop)
    }

    /// The answer was lost: what is there now that the request has been decided.
    async fn look_behind(&self, call: &mut Call) -> Result<Option<(Vec<u8>, Stat)>> {
        loop {
            call.retry_after_loss(self.verb).await?;
            let server_session = call.server_session(self.verb).await?;
            // What was asked before has been decided when this is answered, and the read sees it.
            let (settled, read) = (server_session.settle(self.path), server_session.get_data(self.path));
            match (call.receive(self.verb, settled).await?, call.receive(self.verb, read).await?) {
                (Err(error), _) | (_, Err(error)) if error.is_unanswered() => {}
                (_, Err(WireError::NoNode)) => return Ok(None),
                (_, Ok(found)) => return Ok(Some(found)),
                (_, Err(error)) => return Err(refusal(error, self.verb, self.path)),
            }
        }
    }

    /// The answer was lost: the version if ours was applied, `None` if it certainly was not.
    async fn resolve(&self, call: &mut Call, creates: bool) -> Result<Option<i32>> {
        let found = self.look_behind(call).await?;
        match (found, self.version) {
            // Ours was never there, or somebody has deleted it since, and it is set after that.
            (None, None) => Ok(None),
            (None, Some(_)) => Err(refusal(WireError::NoNode, self.verb, self.path)),
            (Some((value, stat)), None) if creates && stat.version == 0 => {
                Ok((value == self.value).then_some(stat.version))
            }
            (Some((_, stat)), Some(version)) if stat.version == version => Ok(None),
            (Some((value, stat)), Some(version)) if stat.version == version_after(version) => {
                match value == self.value {
                    true => Ok(Some(stat.version)),
                    false => Err(refusal(WireError::BadVersion, self.verb, self.path)),
                }
            }
            (Some((value, stat)), None) if value == self.value => Ok(Some(stat.version)),
            (Some((value, stat)), None) if self.is_as_before(&value, stat.version) => Ok(None),
            (Some(_), _) => Err(unknown(self.verb)),
        }
    }

    fn is_as_before(&self, value: &[u8], version: i32) -> bool {
        self.before.as_ref().is_some_and(|before| before.version == version && before.value == value)
    }
}

fn unknown(verb: &str) -> Error {
    Error::new(
        ErrorKind::ConnectionLost,
        format!(
            "the answer to {verb} was lost, and the value may have been changed by others since, so nobody can tell whether ours \
             was set; read it, and set it again if it is not what it should be"
        ),
    )
}
