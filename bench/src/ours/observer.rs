//! What the clients of a fleet say of themselves, all the time: whether they are connected, hold and wait.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::{AbortHandle, JoinHandle};
use zkrecipes::{Client, Held, Result, State};

use crate::line::now;

/// What is shorter than this is not seen.
const EVERY: Duration = Duration::from_millis(10);

/// Looks until it is dropped, on a thread of its own: it must not wait for what it looks at.
pub struct Observer {
    seen: Arc<Mutex<Seen>>,
    _lives: Sender<()>,
}

/// One holder. Another session than at first is another holder: what was held is lost.
struct Holder {
    held: Held,
    client: Client,
    session: u64,
    uncertain_since: Option<u64>,
    longest: u64,
}

impl Holder {
    fn is_lost(&self) -> bool {
        !self.held.is_held() && self.client.session_id() != self.session
    }
}

struct Seen {
    clients: Vec<Client>,
    holders: Vec<Holder>,
    waiting: Vec<AbortHandle>,
    well_since: Option<u64>,
}

impl Observer {
    pub fn of(clients: &[Client], held: &[(Client, Held)], waiting: &[JoinHandle<Result<Held>>]) -> Observer {
        let holders = held.iter().map(|(client, held)| Holder {
            held: held.clone(),
            client: client.clone(),
            session: client.session_id(),
            uncertain_since: None,
            longest: 0,
        });
        let seen = Arc::new(Mutex::new(Seen {
            clients: clients.to_vec(),
            holders: holders.collect(),
            waiting: waiting.iter().map(JoinHandle::abort_handle).collect(),
            well_since: None,
        }));
        let (lives, ends) = channel();
        let looking = seen.clone();
        std::thread::spawn(move || {
            while ends.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                looking.lock().unwrap().look();
            }
        });
        Observer { seen, _lives: lives }
    }

    /// `well` is since when all have been connected, and all hold that have not lost what they held; 0 while that is not so.
    pub fn told(&self) -> String {
        let mut seen = self.seen.lock().unwrap();
        seen.look();
        let gap = seen.holders.iter().map(|holder| holder.longest).max().unwrap_or(0);
        let lost = seen.holders.iter().filter(|holder| holder.is_lost()).count();
        let ended = seen.waiting.iter().filter(|waiter| waiter.is_finished()).count();
        format!("well={} gap={gap} lost={lost} ended={ended}", seen.well_since.unwrap_or(0))
    }
}

impl Seen {
    fn look(&mut self) {
        let at = now();
        let mut is_well = self.clients.iter().all(|client| client.state() == State::Connected);
        for holder in &mut self.holders {
            let is_certain = holder.held.is_held();
            is_well &= is_certain || holder.is_lost();
            if !is_certain {
                holder.uncertain_since.get_or_insert(at);
            }
            // That it is over is seen at the next look.
            if let Some(since) = holder.uncertain_since {
                holder.longest = holder.longest.max(at - since);
            }
            if is_certain {
                holder.uncertain_since = None;
            }
        }
        self.well_since = is_well.then(|| self.well_since.unwrap_or(at));
    }
}
