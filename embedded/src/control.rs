//! What tests do to a server and to a proxy alike.

use crate::faults::{Fault, FaultId};
use crate::log::LogEntry;
use crate::shell::{Handle, Shared, Shell, State};
use std::sync::Arc;
use std::time::Duration;

/// What tests do to a [`Server`](crate::Server) and to a [`Proxy`](crate::Proxy) alike: connections, faults and the
/// request log. Both lend theirs, so that all this can be called on them directly. Clones are handles to the same one.
///
/// ```
/// use zkrecipes_embedded::{Control, Server};
///
/// fn bad_weather(control: &Control) -> Result<(), String> {
///     control.inject_text("drop_after create* path=/locks/**")?;
///     control.drop_connections();
///     Ok(())
/// }
///
/// let server = Server::start()?;
/// bad_weather(&server)?;
/// assert_eq!(server.count("create*", "**"), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Control {
    handle: Arc<Handle>,
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("addresses", &self.shared().addresses).finish_non_exhaustive()
    }
}

impl Control {
    pub(crate) fn new(handle: Handle) -> Control {
        Control { handle: Arc::new(handle) }
    }

    fn shared(&self) -> &Shared<dyn Shell> {
        &self.handle.shared
    }

    /// What clients connect to: `127.0.0.1:PORT`; for an ensemble, all members with commas between.
    pub fn connect_string(&self) -> String {
        self.shared().connect_string()
    }

    /// The port, of the first member in an ensemble.
    pub fn port(&self) -> u16 {
        self.shared().addresses[0].port()
    }

    /// Stops for good. Also happens when the last handle is dropped.
    pub fn shutdown(&self) {
        self.handle.shutdown();
    }

    /// Breaks all connections, a proxy's on both sides. Sessions live on, and clients may come back at once.
    pub fn drop_connections(&self) {
        self.shared().change(|shell| shell.drop_all_connections());
    }

    /// Stops reading, answering and passing on, while connections stay up. A server's session clock goes on.
    pub fn pause(&self) {
        let mut shell = self.shared().lock();
        let desk = shell.desk_mut();
        if desk.state == State::Running {
            desk.state = State::Paused;
        }
    }

    /// Goes on after [`Control::pause`]. Sessions of a server whose time came meanwhile expire first.
    pub fn resume(&self) {
        self.shared().change(|shell| {
            if shell.desk().state == State::Paused {
                shell.desk_mut().state = State::Running;
                shell.look_at_everything();
            }
        });
    }

    /// Injects a fault; it fires once unless it says otherwise. See [`faults`](crate::faults).
    pub fn inject(&self, fault: Fault) -> FaultId {
        self.shared().lock().desk_mut().inject(fault)
    }

    /// Injects a fault from text, such as `"drop_after create2 path=/locks/** nth=2"`.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the text.
    pub fn inject_text(&self, fault: &str) -> Result<FaultId, String> {
        Ok(self.inject(Fault::parse(fault)?))
    }

    /// Removes all faults that are still waiting or still in force.
    pub fn clear_faults(&self) {
        self.shared().change(|shell| {
            shell.desk_mut().rules.clear();
            shell.break_robbed();
        });
    }

    /// Whether a fault has fired, once at least.
    pub fn fault_fired(&self, id: FaultId) -> bool {
        self.shared().lock().desk().rules.fired(id)
    }

    /// The requests so far, oldest first; a proxy has them in the order of their answers.
    pub fn log(&self) -> Vec<LogEntry> {
        self.shared().lock().desk().log.to_vec()
    }

    pub fn clear_log(&self) {
        self.shared().lock().desk_mut().log.clear();
    }

    /// How many requests of a kind there were, by patterns: `count("create*", "/locks/**")`. `"*"` for the kind leaves
    /// out pings and handshakes; a multi counts for each of its paths that match, once. A proxy counts what the server
    /// answered, or was sent for a lost answer.
    pub fn count(&self, op: &str, path_glob: &str) -> usize {
        self.shared().lock().desk().log.count(op, path_glob)
    }

    /// Waits until a request that matches is in the log, those before the call included. False if none came in time.
    ///
    /// `matches` runs while the server waits for it: it must not call the server.
    pub fn wait_for(&self, matches: impl Fn(&LogEntry) -> bool, within: Duration) -> bool {
        self.shared().wait_for(matches, within)
    }

    /// Ids of the sessions that live, sorted; of a proxy those that went by and have not been seen to end.
    pub fn sessions(&self) -> Vec<u64> {
        self.shared().lock().sessions()
    }

    /// Clients that are connected.
    pub fn connections(&self) -> usize {
        self.shared().lock().connections()
    }
}
