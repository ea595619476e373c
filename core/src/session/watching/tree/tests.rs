//! Following through servers of which one lags behind what another one has told.

use std::future::ready;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::oneshot;

use super::*;
use crate::options::ClientOptions;
use crate::session::system_clock::SystemClock;
use crate::session::wire::scripted::{Script, Scripted};
use crate::session::wire::{Dial, Event, Flight, Link, LinkState, Noted, Watch, Wire, WireError};

const TOP: &str = "/top";

/// The children of the top by name, when each was created, and when there was a change among them last.
type Children = (&'static [(&'static str, i64)], i64);

/// The server that the client is connected with.
#[derive(Clone)]
struct ServerOfChildren(Arc<Mutex<ServerState>>);

struct ServerState {
    shown: Children,
    /// What the leader knows, where this one lags.
    now: Option<Children>,
    /// What is listed there, and has gone.
    gone: &'static str,
    /// Nobody may read the children; how often that was tried.
    denied: Option<usize>,
    generation: u64,
    watches: Vec<(String, bool, oneshot::Sender<Event>)>,
}

impl ServerOfChildren {
    fn of(shown: Children) -> ServerOfChildren {
        ServerOfChildren(Arc::new(Mutex::new(ServerState {
            shown,
            now: None,
            gone: "",
            denied: None,
            generation: 1,
            watches: Vec::new(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.0.lock().expect("no panic")
    }

    /// Another server from now on.
    fn reconnect(&self, shown: Children, now: Option<Children>) {
        let mut state = self.state();
        (state.shown, state.now) = (shown, now);
        state.generation += 2;
    }

    fn tell(&self, path: &str, is_list: bool, event: Event) {
        let mut state = self.state();
        // Those that nobody waits for any more were taken back.
        state.watches.retain(|(.., watch)| !watch.is_closed());
        let at = state.watches.iter().position(|(of, list, _)| of == path && *list == is_list);
        let (.., watch) = state.watches.remove(at.expect("it is watched"));
        watch.send(event).expect("somebody waits");
    }

    fn watch(&self, path: &str, is_list: bool) -> Watch {
        let (watch, event) = oneshot::channel();
        self.state().watches.push((path.to_owned(), is_list, watch));
        Watch::new(Box::pin(async move { event.await.unwrap_or(Event::SessionEnded) }))
    }
}

impl Script for ServerOfChildren {
    fn link(&self) -> Link {
        Link { generation: self.state().generation, state: LinkState::Up }
    }

    fn sync(&self) -> Flight<()> {
        let mut state = self.state();
        state.shown = state.now.take().unwrap_or(state.shown);
        Box::pin(ready(Ok(())))
    }

    fn watch_data(&self, path: &str) -> Flight<(Vec<u8>, Stat, Watch)> {
        let (children, gone) = {
            let mut state = self.state();
            if let Some(tried) = &mut state.denied {
                *tried += 1;
                return Box::pin(ready(Err(WireError::NoAuth)));
            }
            (state.shown.0, state.gone)
        };
        let is_it = |name: &str| name != gone && path::join(TOP, name) == path;
        let top = ("", 1);
        let found = children.iter().find(|(name, _)| is_it(name)).or((path == TOP).then_some(&top));
        let answer = found.map(|(_, czxid)| {
            let stat = Stat { czxid: *czxid, mzxid: *czxid, ..Stat::default() };
            (Vec::new(), stat, self.watch(path, false))
        });
        Box::pin(ready(answer.ok_or(WireError::NoNode)))
    }

    fn watch_children(&self, path: &str) -> Flight<(Vec<String>, Stat, Watch)> {
        let (children, pzxid) = self.state().shown;
        let names = children.iter().map(|(name, _)| (*name).to_owned()).collect();
        let stat = Stat { czxid: 1, pzxid, ..Stat::default() };
        Box::pin(ready(Ok((names, stat, self.watch(path, true)))))
    }
}

impl Dial for ServerOfChildren {
    fn dial(&self, _: &str, _: &ClientOptions, _: &Arc<Noted>) -> Flight<Box<dyn Wire>> {
        let wire: Box<dyn Wire> = Box::new(Scripted(self.clone()));
        Box::pin(ready(Ok(wire)))
    }
}

/// What is known once it differs from what was known before.
async fn next(tree: &mut Tree) -> Vec<String> {
    tree.next().await.expect("no refusal");
    tree.all().map(|(path, _)| path::name(path).to_owned()).collect()
}

#[tokio::test]
async fn what_an_event_has_told_to_be_gone_is_not_found_again_on_a_server_that_lags() -> Result<()> {
    let server = ServerOfChildren::of((&[("a", 2), ("b", 3)], 3));
    let session = session_with(&server).await?;
    let mut tree = Tree::new(&session, "watch", TOP, Depth::Children);
    assert_eq!(next(&mut tree).await, ["a", "b"]);

    // Both changes have arrived; the next server has heard of the first alone.
    server.tell("/top/a", false, Event::Deleted);
    server.tell(TOP, true, Event::ChildrenChanged);
    let behind: Children = (&[("a", 2), ("b", 3), ("c", 4)], 4);
    server.reconnect(behind, Some((&[("b", 3), ("c", 4)], 5)));
    assert_eq!(next(&mut tree).await, ["b"]);
    assert_eq!(next(&mut tree).await, ["b", "c"]);

    server.tell(TOP, true, Event::ChildrenChanged);
    server.state().shown = (&[("a", 6), ("b", 3), ("c", 4)], 6);
    assert_eq!(next(&mut tree).await, ["a", "b", "c"]);

    // All was lost, and transactions are counted from the beginning.
    server.tell("/top/a", false, Event::Deleted);
    server.tell(TOP, true, Event::ChildrenChanged);
    server.reconnect((&[("a", 1), ("b", 3), ("c", 4)], 1), None);
    assert_eq!(next(&mut tree).await, ["b", "c"]);
    assert_eq!(next(&mut tree).await, ["a", "b", "c"]);
    Ok(())
}

async fn session_with(server: &ServerOfChildren) -> Result<Arc<Session>> {
    let (clock, dial) = (Arc::new(SystemClock), Box::new(server.clone()));
    Session::open("scripted".to_owned(), ClientOptions::default(), clock, dial, Arc::default()).await
}

fn first(_: &str, _: &str, names: &BTreeSet<String>) -> BTreeMap<String, NodePart> {
    names.first().map(|name| (name.clone(), NodePart::Data)).into_iter().collect()
}

#[tokio::test]
async fn the_first_of_a_line_that_has_gone_is_not_told_before_the_next_but_for_a_while() -> Result<()> {
    let server = ServerOfChildren::of((&[("a", 2), ("b", 3)], 3));
    server.state().gone = "a";
    let session = session_with(&server).await?;
    let room = Room { nodes: usize::MAX, bytes: usize::MAX };
    let mut tree = Tree::new(&session, "watch", TOP, Depth::Chosen(first, room));
    let early = tokio::time::timeout(Duration::from_millis(100), tree.next()).await;
    assert!(early.is_err(), "its list is on the way");
    server.state().shown = (&[("b", 3)], 4);
    server.tell(TOP, true, Event::ChildrenChanged);
    assert_eq!(next(&mut tree).await, ["top", "b"]);

    // No list comes.
    server.state().gone = "b";
    server.tell("/top/b", false, Event::Deleted);
    assert_eq!(next(&mut tree).await, ["top"]);
    Ok(())
}

#[tokio::test]
async fn many_that_may_not_be_read_are_not_all_looked_at_soon() -> Result<()> {
    const MANY: Children =
        (&[("a", 2), ("b", 3), ("c", 4), ("d", 5), ("e", 6), ("f", 7), ("g", 8), ("h", 9), ("i", 10)], 10);
    let server = ServerOfChildren::of(MANY);
    server.state().denied = Some(0);
    let session = session_with(&server).await?;
    let mut tree = Tree::new(&session, "watch", TOP, Depth::Children);
    assert!(next(&mut tree).await.is_empty());
    // The first is looked at after a second, the others later, one after the other.
    let _ = tokio::time::timeout(Duration::from_secs(2), tree.next()).await;
    let tried = server.state().denied.unwrap_or_default();
    assert!((MANY.0.len()..=MANY.0.len() + 2).contains(&tried), "{tried}");
    Ok(())
}
