//! Names and what they stand for: each name is a child of the path, and its data is what it stands for.
//!
//! 1. Binding creates the node. Binding a name that is bound already is refused.
//! 2. An ephemeral binding goes with the client: it is kept in every server session and made again when somebody deletes it, until
//!    it is unbound or the client is closed.
//! 3. A binding with a time to live is deleted by the servers once nobody has changed it for so long.
//! 4. Following is one watch on the list and one on each node: a change costs one list or one read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::declared::{Declared, declare};
use crate::client::Client;
use crate::error::{Error, Result};
use crate::feed::{Feed, Source};
use crate::path;
use crate::session::Session;
use crate::session::open_parents;
use crate::session::refusal::{refusal, refused_create_as};
use crate::session::registration::{KeptNode, StartingNode};
use crate::session::watching::tree::{Depth, Tree};
use crate::session::wire::{CreateMode, Stat, WireError};

impl Client {
    /// A handle on the names below `path`. Does no I/O.
    pub fn names(&self, path: &str) -> Result<Names> {
        self.session_for_handle()?;
        path::recipe(path)?;
        Ok(Names { client: self.clone(), path: Arc::from(path) })
    }
}

/// Names below a path, and what they stand for, shared with everybody who uses that path. Clones are the same handle.
///
/// ```
/// # zkrecipes::doctest(async {
/// use zkrecipes::{Client, ErrorKind};
///
/// let client = Client::connect("embedded:", Default::default()).await?;
/// let names = client.names("/names/services")?;
/// names.bind("billing", b"10.0.0.7:443", true).await?;
/// assert_eq!(names.lookup("billing").await?.as_deref(), Some(&b"10.0.0.7:443"[..]));
/// assert_eq!(names.bind("billing", b"", false).await.expect_err("bound").kind(), ErrorKind::Exists);
/// assert_eq!(names.list().await?, ["billing"]);
/// names.unbind("billing").await?;
/// assert_eq!(names.lookup("billing").await?, None);
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct Names {
    client: Client,
    path: Arc<str>,
}

impl Names {
    const BIND: &'static str = "bind";
    const LOOKUP: &'static str = "lookup";
    const UNBIND: &'static str = "unbind";
    const LIST: &'static str = "list";

    /// The path below which the names are.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Binds a name to `data`. Exists: it is bound already, by whomever.
    ///
    /// An `ephemeral` binding lasts as long as the client, over all its sessions, and is made again when somebody deletes
    /// it; any other until it is unbound. [`Names::bind_ttl`] binds one for a time.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind of an `ephemeral` binding. Any other may be bound.
    pub async fn bind(&self, name: &str, data: &[u8], ephemeral: bool) -> Result<()> {
        self.declare(name, data, ephemeral, None).await?.receive();
        Ok(())
    }

    /// Binds a name to `data` for a time: the servers unbind it once nobody has changed it for `ttl`, whatever became of the client. To
    /// keep it longer, set its node again, or bind it again once it is unbound. Exists: it is bound already, by whomever. Invalid:
    /// `ttl` is not between a millisecond and 34 years, or the servers take no time to live.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// use std::time::Duration;
    ///
    /// # let server = zkrecipes_embedded::Server::builder().extended_types(true).start().expect("a free port");
    /// # let client = zkrecipes::Client::connect(&server.connect_string(), Default::default()).await?;
    /// let names = client.names("/names/invitations")?;
    /// names.bind_ttl("anna", b"/rooms/7", Duration::from_secs(3600)).await?;
    /// assert_eq!(names.lookup("anna").await?.as_deref(), Some(&b"/rooms/7"[..]));
    /// # Ok(()) });
    /// ```
    ///
    /// # Cancel safety
    /// If the future is dropped, the name may be bound.
    pub async fn bind_ttl(&self, name: &str, data: &[u8], ttl: Duration) -> Result<()> {
        self.declare(name, data, false, Some(ttl)).await?.receive();
        Ok(())
    }

    pub(crate) async fn declare(
        &self,
        name: &str,
        data: &[u8],
        ephemeral: bool,
        ttl: Option<Duration>,
    ) -> Result<Declared> {
        let node = child(&self.path, name)?;
        let mode = if ephemeral { CreateMode::Ephemeral } else { CreateMode::Persistent };
        let mode = ttl.map_or(Ok(mode), |ttl| mode.with_ttl(ttl)).map_err(|error| error.with_path(&*node))?;
        let session = self.client.session()?;
        if ephemeral {
            let registration =
                declare(&session, Names::BIND, &self.path, node, data, StartingNode::Missing).await?;
            return Ok(Declared::of_the_client(registration));
        }
        let bound = self.bind_as(&session, &node, data, mode).await;
        bound.map(|()| Declared::default()).map_err(|error| error.with_path(node))
    }

    async fn bind_as(&self, session: &Arc<Session>, node: &str, data: &[u8], mode: CreateMode) -> Result<()> {
        let mut call = session.call(None);
        call.comes_behind(Names::BIND, session.take_queueing_turn(node)).await?;
        let mut in_doubt = false;
        loop {
            let server_session = call.server_session(Names::BIND).await?;
            open_parents::look(session, &server_session, &mut call, Names::BIND, &self.path).await?;
            let created = server_session.create(node, data, mode);
            match call.receive(Names::BIND, created).await? {
                Ok(_) => return Ok(()),
                Err(WireError::NoNode) => {
                    call.make_path(Names::BIND, &server_session, &self.path, session.parents()).await?;
                }
                Err(error) if error.is_unanswered() => {
                    in_doubt = true;
                    call.retry_after_loss(Names::BIND).await?;
                }
                Err(WireError::NodeExists) if in_doubt => {
                    // Ours if it is as ours would be: nobody can tell it from somebody else's of the same data.
                    match call.receive(Names::BIND, server_session.get_data(node)).await? {
                        Ok((found, stat)) if found == data && is_as_created(&stat) => return Ok(()),
                        Ok(_) => return Err(refusal(WireError::NodeExists, Names::BIND, node)),
                        Err(error) if error.is_unanswered() => call.retry_after_loss(Names::BIND).await?,
                        Err(WireError::NoNode) => {}
                        Err(error) => return Err(refusal(error, Names::BIND, node)),
                    }
                }
                Err(error) => return Err(refused_create_as(mode, error, Names::BIND, node)),
            }
        }
    }

    /// What a name stands for, no older than this call, or `None` if it is not bound.
    pub async fn lookup(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let node = child(&self.path, name)?;
        let session = self.client.session()?;
        let mut call = session.call(None).reading();
        let answer = call.ask(Names::LOOKUP, |server| {
            let (server, node) = (server.clone(), node.as_str());
            async move {
                match server.as_of_now(node, || server.get_data(node)).await {
                    Ok((data, _)) => Ok(Some(data)),
                    Err(WireError::NoNode) => Ok(None),
                    Err(error) => Err(error),
                }
            }
        });
        answer.await.map_err(|failure| failure.about(Names::LOOKUP, &node))
    }

    /// Unbinds a name, whoever has bound it. NoNode: it is not bound.
    ///
    /// What another client keeps bound as ephemeral is bound again by it at once.
    pub async fn unbind(&self, name: &str) -> Result<()> {
        let node = child(&self.path, name)?;
        let session = self.client.session()?;
        // Behind a binding that is on its way: it is this name's that is there then.
        let mut call = session.call(None);
        let turn = call.comes_behind(Names::UNBIND, session.take_queueing_turn(&node)).await;
        turn.map_err(|error| error.with_path(&node))?;
        let mut was_bound = false;
        if let Some(registration) = KeptNode::find(&session, &node) {
            if registration.undo(Names::UNBIND).await? {
                return Ok(());
            }
            // That took a call of its own, and this one has heard nothing meanwhile.
            call.waits_for_nobody();
            // Somebody may have taken the name from us, or may not.
            was_bound = true;
        }
        let deleted = call.delete_this(Names::UNBIND, &node).await;
        match deleted.map_err(|error| error.with_path(&node))? || was_bound {
            true => Ok(()),
            false => Err(refusal(WireError::NoNode, Names::UNBIND, &node)),
        }
    }

    /// The names that are bound, sorted, no older than this call.
    pub async fn list(&self) -> Result<Vec<String>> {
        let session = self.client.session()?;
        let path = &*self.path;
        let mut call = session.call(None).reading();
        let answer = call.ask(Names::LIST, |server| {
            let server = server.clone();
            async move {
                match server.as_of_now(path, || server.children(path)).await {
                    Err(WireError::NoNode) => Ok(Vec::new()),
                    answer => answer,
                }
            }
        });
        let mut names = answer.await.map_err(|failure| failure.about(Names::LIST, path))?;
        names.sort_unstable();
        Ok(names)
    }

    /// All names and what they stand for, now and whenever that has changed. One that may not be read is left out:
    /// [`skipped`](crate::Client::skipped) names its node.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// let names = client.names("/names/hosts")?;
    /// names.bind("a", b"1", false).await?;
    /// let mut feed = names.watch();
    /// let all = feed.next().await.transpose()?.expect("it goes on");
    /// assert_eq!(all["a"], b"1");
    /// # Ok(()) });
    /// ```
    pub fn watch(&self) -> Feed<BTreeMap<String, Vec<u8>>> {
        let session = self.client.session();
        let tree = session.map(|session| Tree::new(&session, "watch", &self.path, Depth::Children));
        Feed::new(FollowedNames { tree })
    }
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Names").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The node of a name: a single component below the path.
pub(super) fn child(parent: &str, name: &str) -> Result<String> {
    if let Some(problem) = path::problem_of_name(name) {
        let problem = format!("{name:?} is not one: it {problem}");
        return Err(Error::invalid("name", problem).with_path(parent));
    }
    let node = path::join(parent, name);
    path::validate(&node)?;
    Ok(node)
}

fn is_as_created(stat: &Stat) -> bool {
    stat.version == 0 && stat.ephemeral_owner == 0
}

struct FollowedNames {
    tree: Result<Tree>,
}

impl Source<BTreeMap<String, Vec<u8>>> for FollowedNames {
    async fn next(&mut self) -> Result<BTreeMap<String, Vec<u8>>> {
        let tree = self.tree.as_mut().map_err(|error| error.clone())?;
        let _touched: BTreeSet<String> = tree.next().await?;
        Ok(tree.all().map(|(path, (data, _))| (path::name(path).to_owned(), data.clone())).collect())
    }
}
