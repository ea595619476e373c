//! Queues, double barriers, two-phase commit, counters, watching.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::spawn;
use zkrecipes::{DoubleBarrier, Error, NodeState, Queue, Result, WatchKind};

use super::Worker;
use crate::line::{Answer, Order, list, now};

const ITEM: [u8; 100] = [b'x'; 100];

#[derive(Copy, Clone)]
enum Verb {
    Put,
    Get,
    Claim,
}

impl Verb {
    async fn of(self, queue: &Queue) -> Result<()> {
        match self {
            Verb::Put => queue.put(&ITEM).await,
            Verb::Get => queue.get().await.map(drop),
            Verb::Claim => queue.claim().await?.ack().await,
        }
    }
}

impl Worker {
    pub async fn items(&mut self, order: &Order) -> Answer {
        let count = order.number("ops");
        let verb = match order.verb.as_str() {
            "put" => Verb::Put,
            "get" => Verb::Get,
            "claim" => Verb::Claim,
            _ => {
                let queue = self.clients[0].queue(order.path(), Default::default())?;
                let items = vec![ITEM; count];
                let begun = now();
                queue.put_many(&items).await?;
                return Ok(Some(format!("took={}", now() - begun)));
            }
        };
        let clients = self.sessions(order.number("clients")).await?;
        // Each from a queue of its own shows what is possible when nobody is in anybody's way.
        let path = |n: usize| match order.text_or("queues", "one") {
            "one" => order.path().to_owned(),
            _ => format!("{}/{n}", order.path()),
        };
        let numbered = clients.iter().enumerate();
        let queues: Result<Vec<_>> =
            numbered.map(|(n, client)| client.queue(&path(n), Default::default())).collect();
        let queues = queues?;
        let left = Arc::new(AtomicUsize::new(count));
        let begun = now();
        let callers: Vec<_> = (0..queues.len() * order.number("calls"))
            .map(|caller| {
                let (queue, left) = (queues[caller % queues.len()].clone(), left.clone());
                spawn(async move {
                    while left
                        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                        .is_ok()
                    {
                        verb.of(&queue).await?;
                    }
                    Ok::<_, Error>(())
                })
            })
            .collect();
        for caller in callers {
            caller.await??;
        }
        Ok(Some(format!("took={}", now() - begun)))
    }

    /// All members enter, and all leave, each with a session of its own.
    pub async fn barrier(&mut self, order: &Order) -> Answer {
        let parties = order.number("members");
        let clients = self.sessions(parties).await?;
        let members: Result<Vec<_>> =
            clients.iter().map(|client| client.double_barrier(order.path(), parties, None)).collect();
        let members = members?;
        let enter = all(&members, true).await?;
        let leave = all(&members, false).await?;
        Ok(Some(format!("enter={enter} leave={leave}")))
    }

    /// A transaction after the other, each of so many sites; from its beginning until every site has acknowledged.
    pub async fn commit(&mut self, order: &Order) -> Answer {
        let count = order.number("sites");
        let transactions = order.number("ops");
        let client = self.clients[0].clone();
        let names: Vec<_> = (0..count).map(|site| format!("site-{site}")).collect();
        let mut sites = Vec::new();
        for name in &names {
            let site = client.two_phase_commit(order.path(), Default::default())?;
            site.join(name).await?;
            sites.push(site);
        }
        let payments = client.two_phase_commit(order.path(), Default::default())?;
        let mut times = Vec::new();
        for number in 0..transactions {
            let voters: Vec<_> = sites
                .iter()
                .cloned()
                .map(|site| {
                    spawn(async move {
                        let proposal = site.next(None).await?;
                        proposal.vote_commit().await?;
                        proposal.outcome(None).await?;
                        proposal.acknowledge().await
                    })
                })
                .collect();
            let begun = now();
            let limit = std::time::Duration::from_secs(60);
            let id = format!("t-{begun}-{number}");
            let voting: Vec<_> = names.iter().map(String::as_str).collect();
            payments.begin(&id, &voting, b"bench", limit).await?.outcome(None).await?;
            for voter in voters {
                voter.await??;
            }
            times.push(now() - begun);
        }
        for site in sites {
            site.leave().await?;
        }
        Ok(Some(list("both", &times)))
    }

    pub async fn counter(&self, order: &Order) -> Answer {
        let counter = self.clients[0].counter(order.path(), Default::default())?;
        let mut times = Vec::new();
        for _ in 0..order.number("ops") {
            let begun = now();
            counter.add(1).await?;
            times.push(now() - begun);
        }
        Ok(Some(list("both", &times)))
    }

    /// From the call that sets a node until the stream has told the new state, to another session.
    pub async fn watch(&mut self, order: &Order) -> Answer {
        let [writer, reader] = self.sessions(2).await? else { unreachable!("two were asked for") };
        let path = order.path();
        writer.nodes().ensure(path).await?;
        let mut states = reader.nodes().watch(path, WatchKind::Data)?;
        states.next().await.transpose()?;
        let mut times = Vec::new();
        for number in 0..order.number("ops") {
            let data = format!("{number}-{}", now());
            let begun = now();
            let nodes = writer.nodes();
            let set = nodes.set(path, data.as_bytes(), None);
            let told = async {
                while let Some(state) = states.next().await.transpose()? {
                    if matches!(&state, NodeState::Data(Some((told, _))) if told == data.as_bytes()) {
                        break;
                    }
                }
                Ok::<_, Error>(now())
            };
            let (set, told) = tokio::join!(set, told);
            set?;
            times.push(told? - begun);
        }
        Ok(Some(list("both", &times)))
    }
}

async fn all(members: &[DoubleBarrier], enter: bool) -> Result<u64> {
    let begun = now();
    let moves = members.iter().cloned().map(|member| {
        spawn(async move {
            match enter {
                true => member.enter(None).await,
                false => member.leave(None).await,
            }
        })
    });
    for moved in moves.collect::<Vec<_>>() {
        moved.await.expect("a member does not panic")?;
    }
    Ok(now() - begun)
}
