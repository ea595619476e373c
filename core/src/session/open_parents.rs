//! Whether strangers may delete what a recipe makes: in ZooKeeper that right is the parent's.
//!
//! With credentials what we make is ours, parents as well. But a path that nobody has used yet can be made by anybody, with an
//! access list that lets everybody delete: then strangers break every lock below it, and take every item. So a client that
//! makes nodes which are not everybody's reads the list of a parent that it has not made itself: where it sees what node that is,
//! once for each, and elsewhere each time. Where nodes are further below, [`look_below`] and [`look_once_below`] read the lists from
//! the root of the recipe on down, or from the folder beside it that a queue has.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Session;
use super::call::Call;
use super::clock::Moment;
use super::server_session::ServerSession;
use super::wire::WireError;
use crate::error::{Error, ErrorKind, Result};
use crate::options::AclChoice;
use crate::path;

/// Whether [`look_once`] has nothing to ask.
pub(crate) fn is_known(session: &Session, server_session: &ServerSession, parent: &str) -> bool {
    server_session.is_vouched_for(parent) || session.options().access() == AclChoice::Open
}

/// Warns once of a parent below which strangers may delete; Denied where the options refuse such. For who is told what
/// node the parent is, by a list of what is below: see [`ServerSession::saw_parent`].
pub(crate) async fn look_once(
    session: &Arc<Session>,
    server_session: &Arc<ServerSession>,
    call: &mut Call,
    verb: &str,
    parent: &str,
) -> Result<()> {
    if server_session.is_vouched_for(parent) {
        return Ok(());
    }
    look(session, server_session, call, verb, parent).await
}

/// The same for who does not: an empty parent may have been collected, and made again by somebody else.
pub(crate) async fn look(
    session: &Arc<Session>,
    server_session: &Arc<ServerSession>,
    call: &mut Call,
    verb: &str,
    parent: &str,
) -> Result<()> {
    look_at_all(session, server_session, call, verb, &[parent]).await
}

/// The same for several below the root of a recipe, in one flight with the root and with what is between: whoever may delete there can
/// put a folder of their own in the place of one that is empty. Those above are looked at once, and again when a folder that was
/// there is missing, for then they may have gone with it.
pub(crate) async fn look_below(
    session: &Arc<Session>,
    server_session: &Arc<ServerSession>,
    call: &mut Call,
    verb: &str,
    root: &str,
    folders: &[&str],
) -> Result<()> {
    let above: BTreeSet<&str> = folders.iter().flat_map(|folder| and_above(root, folder).skip(1)).collect();
    let (known, unknown): (Vec<&str>, Vec<&str>) =
        above.into_iter().partition(|folder| server_session.is_vouched_for(folder));
    let all: Vec<&str> = folders.iter().copied().chain(unknown).collect();
    look_at_all(session, server_session, call, verb, &all).await?;
    let gone: Vec<&str> = known.into_iter().filter(|folder| !server_session.is_vouched_for(folder)).collect();
    look_at_all(session, server_session, call, verb, &gone).await
}

/// The same for one folder that is looked at once as well, for who lists it or finds it missing.
pub(crate) async fn look_once_below(
    session: &Arc<Session>,
    server_session: &Arc<ServerSession>,
    call: &mut Call,
    verb: &str,
    root: &str,
    folder: &str,
) -> Result<()> {
    let unknown: Vec<&str> =
        and_above(root, folder).filter(|folder| !server_session.is_vouched_for(folder)).collect();
    look_at_all(session, server_session, call, verb, &unknown).await
}

/// A folder and those above it, up to the root of its recipe. What stands beside the root has a name that goes on behind the root's:
/// there it is up to that.
fn and_above<'a>(root: &str, folder: &'a str) -> impl Iterator<Item = &'a str> {
    let is_below = move |folder: &str| folder.strip_prefix(root).is_some_and(|rest| rest.contains('/'));
    std::iter::successors(Some(folder), move |folder| is_below(folder).then(|| path::parent(folder)))
}

async fn look_at_all(
    session: &Arc<Session>,
    server_session: &Arc<ServerSession>,
    call: &mut Call,
    verb: &str,
    parents: &[&str],
) -> Result<()> {
    let options = session.options();
    if options.access() == AclChoice::Open || parents.is_empty() {
        return Ok(());
    }
    let asked = call.ask(verb, |server| {
        let flights: Vec<_> = parents.iter().map(|parent| server.is_open_to_strangers(parent)).collect();
        async move {
            let mut answers = Vec::with_capacity(flights.len());
            for flight in flights {
                match flight.await {
                    Err(error) if error.is_unanswered() => return Err(error),
                    answer => answers.push(answer),
                }
            }
            Ok(answers)
        }
    });
    let answers = asked.await.map_err(|failure| failure.about(verb, parents[0]))?;
    for (parent, answer) in parents.iter().zip(answers) {
        // Who uses it next may find another one of its name, which nobody has looked at.
        let czxid = answer.as_ref().ok().map(|(_, czxid)| *czxid);
        match answer {
            // Asked again each time: somebody may have closed it.
            Ok((true, _)) if options.refuse_open_parents => return Err(refused(parent)),
            Ok((true, _)) => warn(session, parent),
            // Whoever makes it is asked about then.
            Err(WireError::NoNode) => {
                server_session.forget_deletions_below(parent);
                continue;
            }
            // Not for us to know: then it is not everybody's.
            Ok((false, _)) | Err(_) => {}
        }
        server_session.vouch_for(parent, czxid);
    }
    Ok(())
}

fn warn(session: &Session, parent: &str) {
    if session.is_first_time(&format!("open {parent}")) {
        tracing::warn!(
            target: "zkrecipes",
            event = "open_parent",
            path = parent,
            "everybody may delete what stands here, for whoever made the path let them: have its access list changed, or use a \
             path that this client makes; the option refuse_open_parents refuses such"
        );
    }
}

/// How often a parent is looked at of which no answer tells that it is another node by now: one request a second.
const OFTEN: Duration = Duration::from_secs(1);

/// For who is told by no answer what node the parent is. Where strangers are refused it is looked at each time; else, when it has
/// been looked at once, only now and then and beside the call, which need not wait for a warning. `looked` is when it was last.
pub(crate) async fn look_again(
    session: &Arc<Session>,
    server_session: &Arc<ServerSession>,
    call: &mut Call,
    verb: &'static str,
    parent: &str,
    looked: &mut Option<Moment>,
) -> Result<()> {
    if session.options().refuse_open_parents || !server_session.is_vouched_for(parent) {
        return look(session, server_session, call, verb, parent).await;
    }
    let now = session.now();
    if session.options().access() == AclChoice::Open || looked.is_some_and(|at| now.since(at) < OFTEN) {
        return Ok(());
    }
    *looked = Some(now);
    let (about, parent) = (session.clone(), parent.to_owned());
    session.clock().spawn(Box::pin(async move {
        // Who puts hears of what ends this.
        let _ = look(&about, &about.server_session(), &mut about.call(None), verb, &parent).await;
    }));
    Ok(())
}

fn refused(parent: &str) -> Error {
    Error::new(
        ErrorKind::Denied,
        "the access list of the path lets everybody delete what this client would make there (option refuse_open_parents); have \
         it changed by whoever made the path, or use a path that this client makes",
    )
    .with_path(parent)
}
