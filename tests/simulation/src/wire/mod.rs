//! The client's own wire over the simulated network. Its other thread, of which `io` is the part that it plays, may run in
//! the middle of somebody else's poll, too, wherever the core looks at the link or at a watch.

pub mod io;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use zkrecipes::session::clock::{Later, Moment};
use zkrecipes::session::wire::{
    Applied, CreateMode, Created, Dial, Flight, Following, Link, Noted, Read, SessionIdentity, Stat, Watch,
    Wire, WireError, Write,
};
use zkrecipes::{AclChoice, AclEntry, ClientOptions};

use self::io::{Io, Listening};
use crate::sim::{HostId, Sim};

/// Opens sessions from one host.
pub struct HostDial {
    pub sim: Arc<Sim>,
    pub host: HostId,
}

impl Dial for HostDial {
    fn dial(&self, _: &str, options: &ClientOptions, _: &Arc<Noted>) -> Flight<Box<dyn Wire>> {
        let (io, opened) = Io::start(&self.sim, self.host, options);
        Box::pin(async move {
            let wire = opened.await?;
            Ok(Box::new(Session { wire, io }) as Box<dyn Wire>)
        })
    }

    fn close_outliving(
        &self,
        _: &str,
        options: &ClientOptions,
        session: SessionIdentity,
        near: Option<String>,
    ) -> Later<()> {
        self.sim.ledger.count(|tally| tally.outlived += 1);
        Io::close(&self.sim, self.host, options, session, near)
    }
}

struct Session {
    wire: Box<dyn Wire>,
    io: Arc<Io>,
}

impl Session {
    /// The watch of an answer, which somebody listens to from when they asked.
    async fn heard<T>(
        flight: Flight<T>,
        listening: Listening,
        parts: impl FnOnce(&mut T) -> &mut Watch,
    ) -> Result<T, WireError> {
        let mut found = flight.await?;
        let watch = parts(&mut found);
        let mut told = std::mem::replace(watch, Watch::unarmed(Box::pin(std::future::pending())));
        *watch = Watch::new(Box::pin(poll_fn(move |context| {
            listening.run_aside();
            Pin::new(&mut told).poll(context)
        })));
        Ok(found)
    }
}

/// What the wire does without more ado.
macro_rules! passed_on {
    ($($name:ident($($given:ident: $what:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&self, $($given: $what),*) -> $answer { self.wire.$name($($given),*) })*
    };
}

impl Wire for Session {
    passed_on! {
        session_id() -> u64;
        session_timeout() -> Duration;
        asked() -> Option<Moment>;
        knows_what_left() -> bool;
        server() -> Option<String>;
        cause() -> Option<String>;
        outlives_us() -> Later<Option<SessionIdentity>>;
        link_changed(seen: Link) -> Later<()>;
        close() -> Later<()>;
        create(path: &str, data: &[u8], mode: CreateMode, acl: &AclChoice) -> Flight<Created>;
        delete_on(generation: Option<u64>, path: &str, version: Option<i32>) -> Flight<()>;
        delete_in_order(path: &str) -> Flight<()>;
        exists(path: &str) -> Flight<Option<Stat>>;
        get_data(path: &str) -> Flight<(Vec<u8>, Stat)>;
        get_each(paths: &[String]) -> Flight<Vec<Read>>;
        set_data_on(generation: Option<u64>, path: &str, data: &[u8], version: Option<i32>) -> Flight<Stat>;
        children(path: &str) -> Flight<Vec<String>>;
        children_and_stat(path: &str) -> Flight<(Vec<String>, Stat)>;
        follow_children(path: &str) -> Option<Following>;
        is_open_to_deletion(path: &str) -> Flight<bool>;
        access_list(path: &str) -> Flight<(Vec<AclEntry>, Stat)>;
        sync(path: &str) -> Flight<()>;
        multi_on(generation: Option<u64>, writes: &[Write], acl: &AclChoice) -> Flight<Vec<Applied>>;
        multi_in_order(writes: &[Write], acl: &AclChoice) -> Flight<Vec<Applied>>;
        own_ephemerals(path: &str) -> Flight<Vec<String>>;
        create_chroot(acl: &AclChoice) -> Flight<()>;
    }

    fn link(&self) -> Link {
        self.io.run_aside();
        self.wire.link()
    }

    fn watch_data(&self, path: &str) -> Flight<(Vec<u8>, Stat, Watch)> {
        Box::pin(Session::heard(self.wire.watch_data(path), self.io.listen(path), |found| &mut found.2))
    }

    fn watch_exists(&self, path: &str) -> Flight<(Option<Stat>, Watch)> {
        Box::pin(Session::heard(self.wire.watch_exists(path), self.io.listen(path), |found| &mut found.1))
    }

    fn watch_children(&self, path: &str) -> Flight<(Vec<String>, Stat, Watch)> {
        Box::pin(Session::heard(self.wire.watch_children(path), self.io.listen(path), |found| &mut found.2))
    }
}
