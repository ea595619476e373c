//! Locks, and whatever else takes turns.

use std::time::Duration;

use tokio::task::spawn;
use zkrecipes::{Error, Lock, LockOptions, Result};

use super::Worker;
use crate::line::{Answer, Order, done, list, now};

impl Worker {
    fn lock(&self, path: &str) -> Result<Lock> {
        self.clients[0].lock(path, LockOptions::default())
    }

    /// Nobody else wants it.
    pub async fn free(&self, order: &Order) -> Answer {
        let lock = self.lock(order.path())?;
        let waits = order.verb == "lock";
        let (mut acquired, mut both) = (Vec::new(), Vec::new());
        for _ in 0..order.number("ops") {
            let begun = now();
            let held = lock.acquire().await?;
            acquired.push(now() - begun);
            match waits {
                true => held.release().await?,
                false => held.release_in_background()?,
            }
            both.push(now() - begun);
        }
        Ok(Some(format!("{} {}", list("acquire", &acquired), list("both", &both))))
    }

    pub async fn disjoint(&self, order: &Order) -> Answer {
        let (paths, pairs) = (order.number("paths"), order.number("ops"));
        let locks: Result<Vec<_>> =
            (0..paths).map(|path| self.lock(&format!("{}/{path}", order.path()))).collect();
        let locks = locks?;
        let begun = now();
        let callers = locks.into_iter().map(|lock| {
            spawn(async move {
                for _ in 0..pairs / paths {
                    lock.acquire().await?.release().await?;
                }
                Ok::<_, Error>(())
            })
        });
        for caller in callers.collect::<Vec<_>>() {
            caller.await??;
        }
        Ok(Some(format!("took={}", now() - begun)))
    }

    pub async fn hold(&mut self, order: &Order) -> Answer {
        self.held = Some(self.lock(order.path())?.acquire().await?);
        done()
    }

    pub fn drop(&mut self) -> Answer {
        let begun = now();
        self.held.take().ok_or("nothing is held")?.release_in_background()?;
        Ok(Some(format!("at={begun}")))
    }

    /// Waiters with a handle each, in one session or in several; each acquires so many times, and lets go at once.
    pub async fn queue(&mut self, order: &Order) -> Answer {
        let times = order.number("times");
        let sessions = order.text_or("sessions", "1").parse()?;
        self.sessions(sessions).await?;
        for nth in 0..order.number("waiters") {
            let lock = self.clients[nth % sessions].lock(order.path(), LockOptions::default())?;
            let stamps = self.stamps.clone();
            self.waiters.push(spawn(async move {
                for _ in 0..times {
                    let held = lock.acquire().await.expect("the lock");
                    stamps.lock().unwrap().push(now());
                    held.release().await.expect("released");
                }
            }));
        }
        done()
    }

    pub async fn finish(&mut self) -> Answer {
        for waiter in self.waiters.drain(..) {
            waiter.await?;
        }
        Ok(Some(list("at", &std::mem::take(&mut *self.stamps.lock().unwrap()))))
    }

    /// Waiters of one client, who pass the lock on in memory as often as they may.
    pub async fn local(&self, order: &Order) -> Answer {
        let (waiters, ops) = (order.number("callers"), order.number("ops"));
        let options = LockOptions::default().local_handoff(u32::MAX);
        let begun = now();
        let mut callers = Vec::new();
        for _ in 0..waiters {
            let lock = self.clients[0].lock(order.path(), options.clone())?;
            callers.push(spawn(async move {
                for _ in 0..ops / waiters {
                    lock.acquire().await?.release_in_background()?;
                }
                Ok::<_, Error>(())
            }));
        }
        for caller in callers {
            caller.await??;
        }
        Ok(Some(format!("took={}", now() - begun)))
    }

    /// Many read, and one in so many writes.
    pub async fn read_write(&self, order: &Order) -> Answer {
        let (count, ops, every) = (order.number("callers"), order.number("ops"), order.number("every"));
        let begun = now();
        let mut callers = Vec::new();
        for _ in 0..count {
            let lock = self.clients[0].read_write_lock(order.path())?;
            callers.push(spawn(async move {
                for number in 1..=ops / count {
                    let side = if number % every == 0 { lock.write() } else { lock.read() };
                    side.acquire().await?.release().await?;
                }
                Ok::<_, Error>(())
            }));
        }
        for caller in callers {
            caller.await??;
        }
        Ok(Some(format!("took={}", now() - begun)))
    }

    pub async fn semaphore(&self, order: &Order) -> Answer {
        let (count, ops, permits) = (order.number("callers"), order.number("ops"), order.number("permits"));
        let begun = now();
        let mut callers = Vec::new();
        for _ in 0..count {
            let semaphore = self.clients[0].semaphore(order.path(), permits)?;
            callers.push(spawn(async move {
                for _ in 0..ops / count {
                    semaphore.acquire(1).await?.release().await?;
                }
                Ok::<_, Error>(())
            }));
        }
        for caller in callers {
            caller.await??;
        }
        Ok(Some(format!("took={}", now() - begun)))
    }

    /// `stand` becomes a candidate, `elected` waits until it leads, `resign` gives that up.
    pub async fn elect(&mut self, order: &Order) -> Answer {
        match order.verb.as_str() {
            "stand" => {
                let election = self.clients[0].election(order.path(), b"bench", Default::default())?;
                let campaign = election.campaign();
                self.election = Some(election);
                self.leading = Some(spawn(async move { (campaign.await.expect("leads one day"), now()) }));
                done()
            }
            "elected" => {
                let leading = self.leading.take().ok_or("no candidate")?;
                let (leadership, at) = leading.await?;
                // Stays until it resigns.
                self.leading = Some(spawn(async move { (leadership, at) }));
                Ok(Some(format!("at={at}")))
            }
            _ => {
                let begun = now();
                self.election.take().ok_or("no candidate")?.resign().await?;
                self.leading = None;
                tokio::time::sleep(Duration::ZERO).await;
                Ok(Some(format!("at={begun}")))
            }
        }
    }
}
