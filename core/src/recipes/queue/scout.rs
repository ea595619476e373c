//! Looking for items when none is left, and waiting for some. One call of a client does so for all that wait on the path.

use std::sync::Arc;
use std::time::Duration;

use super::layout::Order;
use super::line::Spot;
use super::pause::{self, Free};
use super::stock::{Out, Stock};
use super::told::Told;
use crate::error::{Error, Result};
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::wire::WireError;

/// After how long at most to look at the clock that says what is due: somebody may have set it. It asks no server.
const MOST_UNLOOKED: Duration = Duration::from_millis(500);

/// What the call that looks for items has learned; the other calls of the client use it, too.
#[derive(Default)]
pub(super) struct Scout {
    /// What is watched.
    told: Option<Told>,
    /// Our place in the line.
    spot: Option<Spot>,
    /// Whether we cannot stand there.
    needs_no_line: bool,
    /// Whether calls that do not wait use it, too.
    serves_all: bool,
}

impl Scout {
    /// Whether the next call can go on with it, and it does no harm meanwhile.
    pub(super) fn is_worth_keeping(&self) -> bool {
        let has_place = self.spot.as_ref().map(Spot::is_harmless);
        self.told.is_some() && has_place.unwrap_or(self.needs_no_line || self.serves_all)
    }

    /// Resolves when others come behind our place.
    pub(super) async fn until_in_the_way(&mut self, session: &Arc<Session>) {
        match &mut self.spot {
            Some(spot) => spot.until_in_the_way(session).await,
            None => std::future::pending().await,
        }
    }
}

/// What a waiter woke for.
enum News {
    Items,
    /// We may have moved up.
    Line,
    /// Something has come back, or is due.
    Again,
}

impl Stock {
    /// Hands out the next item, as soon as there is one. Timeout when there is none and the caller does not wait.
    pub(super) async fn next(
        self: &Arc<Self>,
        session: &Arc<Session>,
        call: &mut Call,
        verb: &'static str,
    ) -> Result<Out> {
        let mut seeking = self.seek(session);
        if self.layout.order != Order::Arrival {
            // Whatever came since the last look may come before what is left of it.
            self.catch_up(session, call, verb).await?;
        }
        loop {
            if self.is_outdated() {
                let found = self.list(call, verb, false).await?;
                self.fill(session.now(), session.clock().wall(), found);
            }
            if let Some(out) = self.pick(session, session.clock().wall()) {
                seeking.found();
                return Ok(out);
            }
            self.replenish(session, call, verb).await?;
        }
    }

    /// Knows all that is there now.
    async fn catch_up(
        self: &Arc<Self>,
        session: &Arc<Session>,
        call: &mut Call,
        verb: &'static str,
    ) -> Result<()> {
        let scout = match call.is_single_attempt() {
            // This call does not wait for others, so it lists by itself.
            true => None,
            false => call.patiently(self.post.scout_unless_busy()).await?,
        };
        let Some(mut scout) = scout else {
            let found = self.list(call, verb, true).await?;
            self.fill(session.now(), session.clock().wall(), found);
            return Ok(());
        };
        scout.serves_all = true;
        let told = scout.told.get_or_insert_with(|| Told::new(session, &self.layout, verb));
        loop {
            let epoch = call.epoch(verb).await?;
            let link = epoch.link();
            // Both in one flight: what changed before the `sync` is told before the `sync` is answered.
            let synced = epoch.sync(&self.layout.items);
            told.catch_up_within(call, verb).await?;
            let synced = call.briefly(verb, synced).await?;
            told.catch_up_within(call, verb).await?;
            self.take_note(session, told);
            match synced {
                Ok(()) if epoch.link() == link => return Ok(()),
                Err(error) if !error.is_unanswered() => {
                    return Err(refusal(error, verb, &self.layout.items));
                }
                _ => call.retry_after_loss(verb).await?,
            }
        }
    }

    fn take_note(&self, session: &Arc<Session>, told: &mut Told) {
        if let Some((found, strays)) = told.news(&self.layout, session.clock().wall()) {
            pause::tidy(session, &self.layout, strays);
            self.fill(session.now(), session.clock().wall(), found);
        }
    }

    /// Returns when there may be something to pick.
    async fn replenish(
        self: &Arc<Self>,
        session: &Arc<Session>,
        call: &mut Call,
        verb: &'static str,
    ) -> Result<()> {
        if call.is_single_attempt() {
            // The call that has the scout may keep it for long, so this one lists by itself.
            let found = self.list(call, verb, true).await?;
            self.fill(session.now(), session.clock().wall(), found);
            let nothing = || Error::timeout("no item to take came").with_path(&self.layout.path);
            return if self.is_used_up(session) { Err(nothing()) } else { Ok(()) };
        }
        let mut scout = call.patiently(self.post.scout()).await?;
        if !self.is_used_up(session) {
            return Ok(());
        }
        if scout.told.is_none() {
            let found = self.list(call, verb, false).await?;
            self.fill(session.now(), session.clock().wall(), found);
            if !self.is_used_up(session) {
                return Ok(());
            }
        }
        // From here on a broken connection delays us, and only our own deadline ends the wait.
        call.insist();
        self.wait(&mut scout, session, call, verb).await
    }

    /// Whether nothing that is ready can be taken now.
    pub(super) fn is_used_up(&self, session: &Session) -> bool {
        self.first(session.now()).is_none_or(|name| self.layout.is_early(&name, session.clock().wall()))
    }

    /// The items that nobody has claimed, in order.
    pub(super) async fn list(&self, call: &mut Call, verb: &str, is_synced: bool) -> Result<Vec<Free>> {
        let (layout, session) = (&self.layout, call.session().clone());
        loop {
            let epoch = call.epoch(verb).await?;
            // In one flight. The claims first: what is claimed in between shows when it is taken.
            let sync = is_synced.then(|| epoch.sync(&layout.items));
            let claims = epoch.children(&layout.claims);
            let items = epoch.children(&layout.items);
            let synced = match sync {
                Some(sync) => call.briefly(verb, sync).await?,
                None => Ok(()),
            };
            let claims = missing_is_empty(call.briefly(verb, claims).await?);
            let items = missing_is_empty(call.briefly(verb, items).await?);
            match (synced, claims, items) {
                (Ok(()), Ok(claimed), Ok(names)) => {
                    let (found, strays) = pause::free(layout, &names, &claimed, session.clock().wall());
                    pause::tidy(&session, layout, strays);
                    return Ok(found);
                }
                (Err(error), _, _) | (_, Err(error), _) | (_, _, Err(error)) if error.is_unanswered() => {
                    call.retry_after_loss(verb).await?;
                }
                (Err(error), _, _) | (_, Err(error), _) | (_, _, Err(error)) => {
                    return Err(refusal(error, verb, &layout.items));
                }
            }
        }
    }

    async fn wait(
        self: &Arc<Self>,
        scout: &mut Scout,
        session: &Arc<Session>,
        call: &mut Call,
        verb: &'static str,
    ) -> Result<()> {
        loop {
            if scout.spot.is_none() && !scout.needs_no_line {
                let waiting = format!("{}-__queue__/waiting", self.layout.path);
                scout.spot = Spot::enter(&waiting, session, call, verb).await?;
                scout.needs_no_line = scout.spot.is_none();
            }
            let mut back = std::pin::pin!(self.back.notified());
            back.as_mut().enable();
            let Scout { told, spot, .. } = &mut *scout;
            if let Some(told) = told {
                self.take_note(session, told);
            }
            if !self.is_used_up(session) {
                return Ok(());
            }
            let told = self.told(session, told, spot.as_mut(), verb);
            let news = async {
                tokio::select! {
                    biased;
                    news = told => news,
                    () = back => Ok(News::Again),
                    () = self.until_due(session) => Ok(News::Again),
                }
            };
            if let News::Line = call.patiently(news).await??
                // Taken out first: if this call is dropped while it looks, the next one makes a new place, since the old one
                // would not be woken a second time.
                && let Some(mut spot) = scout.spot.take()
                && spot.look(call, verb).await?
            {
                scout.spot = Some(spot);
            }
        }
    }

    /// What is told to those in the front of the line about the items, and to everybody about the line.
    async fn told(
        &self,
        session: &Arc<Session>,
        told: &mut Option<Told>,
        spot: Option<&mut Spot>,
        verb: &'static str,
    ) -> Result<News> {
        if spot.as_ref().is_some_and(|spot| !spot.is_in_front()) {
            moved(spot).await;
            return Ok(News::Line);
        }
        let told = told.get_or_insert_with(|| Told::new(session, &self.layout, verb));
        tokio::select! {
            biased;
            changed = told.changed() => changed.map(|()| News::Items),
            () = moved(spot) => Ok(News::Line),
        }
    }

    /// Resolves when the first item that is known is due, by a clock that may be set meanwhile, or when the pause of the first
    /// that is paused is over.
    async fn until_due(&self, session: &Session) {
        let due = async {
            let Some(name) = self.first(session.now()) else { return std::future::pending().await };
            while let Ok(left) = u64::try_from(name.key - session.clock().wall()) {
                let left = Duration::from_millis(left + 1).min(MOST_UNLOOKED);
                session.clock().sleep_until(session.now() + left).await;
            }
        };
        let awake = async {
            match self.end_of_first_pause() {
                Some(at) => session.clock().sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = awake => {}
            () = due => {}
        }
    }
}

pub(super) async fn moved(spot: Option<&mut Spot>) {
    match spot {
        Some(spot) => spot.changed().await,
        None => std::future::pending().await,
    }
}

fn missing_is_empty(listed: Result<Vec<String>, WireError>) -> Result<Vec<String>, WireError> {
    match listed {
        Err(WireError::NoNode) => Ok(Vec::new()),
        listed => listed,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use zkrecipes_embedded::Server;

    use crate::Client;
    use crate::session::clock::{Clock, Later, Moment};
    use crate::session::system_clock::SystemClock;
    use crate::session::wire::own::Own;

    use super::*;

    /// Somebody sets it.
    #[derive(Default)]
    struct SetClock(AtomicI64);

    impl Clock for SetClock {
        fn now(&self) -> Moment {
            SystemClock.now()
        }

        fn wall(&self) -> i64 {
            SystemClock.wall() + self.0.load(Ordering::Relaxed)
        }

        fn sleep_until(&self, at: Moment) -> Later<()> {
            SystemClock.sleep_until(at)
        }

        fn spawn(&self, task: Later<()>) {
            SystemClock.spawn(task);
        }

        fn alarm(&self, at: Moment, alarm: Box<dyn FnOnce() + Send>) {
            SystemClock.alarm(at, alarm);
        }
    }

    #[test]
    fn an_item_is_due_when_the_clock_is_set_forward() {
        let server = Server::start().expect("a free port");
        let clock = Arc::new(SetClock::default());
        let hosts = server.connect_string();
        let test = async move {
            let dial = Box::new(Own { counters: Arc::default() });
            let client = Client::connect_over(dial, clock.clone(), &hosts, Default::default()).await?;
            let queue = client.delay_queue("/queues/due", Default::default())?;
            queue.put(b"tomorrow", Duration::from_secs(24 * 3600)).await?;
            let mut getting = std::pin::pin!(queue.get());
            let early = Duration::from_millis(300);
            assert!(tokio::time::timeout(early, getting.as_mut()).await.is_err(), "it is not due");
            clock.0.store(25 * 3600 * 1000, Ordering::Relaxed);
            let due = tokio::time::timeout(Duration::from_secs(20), getting).await;
            due.unwrap_or_else(|_| Err(Error::timeout("it did not come")))
        };
        let got = crate::drive::wait(test, None, None).expect("it is due");
        assert_eq!(got, b"tomorrow");
    }
}
