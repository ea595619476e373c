//! Members of a partitioner that come, leave, vanish and are cut off at random: no partition has two owners, each is owned again
//! soon, and hardly more moves than must.
//!
//! `ZKR_PARTITIONS=members,partitions,seconds` plays it larger, on the server at `ZKR_REAL` instead of the embedded one. 60 members with
//! 256 partitions for five minutes, on one node of an ensemble that `tests/zookeeper/zookeeper.py run 3.9 --nodes 3` starts and names:
//!
//! ```text
//! ZKR_REAL=HOST:PORT ZKR_PARTITIONS=60,256,300 \
//!   cargo test -p zkrecipes -p zkrecipes-ffi-testing --test crowds partitions -- --nocapture
//! ```

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::ground::{Ground, ground};
use crate::support::soon;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use zkrecipes::{Client, Partition, Partitioner, PartitionerOptions};
use zkrecipes_embedded::Fault;

const PATH: &str = "/partitions/crowd";
const SESSION: Duration = Duration::from_secs(4);

/// What of a partition was seen.
#[derive(Default)]
struct Ledger {
    owners: Mutex<HashMap<String, (String, Partition)>>,
    moves: Mutex<usize>,
}

impl Ledger {
    /// The next owner begins.
    fn begins(&self, member: &str, partition: &Partition) {
        let mut owners = self.owners.lock().unwrap();
        let owner = (member.to_owned(), partition.clone());
        if let Some((_, last)) = owners.insert(partition.name().to_owned(), owner) {
            assert!(
                partition.fencing_token() > last.fencing_token(),
                "the token of {} falls",
                partition.name()
            );
            assert!(!last.is_held(), "{} has two owners", partition.name());
        }
        *self.moves.lock().unwrap() += 1;
    }

    fn owned(&self) -> usize {
        self.owners.lock().unwrap().values().filter(|(_, partition)| partition.is_held()).count()
    }

    fn owned_by(&self, name: &str) -> usize {
        let owners = self.owners.lock().unwrap();
        owners.values().filter(|(owner, partition)| owner == name && partition.is_held()).count()
    }
}

struct Member {
    client: Client,
    partitioner: Partitioner,
    running: JoinHandle<()>,
}

impl Member {
    async fn begin(ground: &Ground, partitions: usize, name: &str, ledger: &Arc<Ledger>) -> Member {
        let client = ground.client(SESSION).await;
        let options = PartitionerOptions::default().name(name).drain(Duration::from_secs(2));
        let partitioner = client.partitioner(PATH, partitions, options).expect("valid");
        let (member, ledger, name) = (partitioner.clone(), ledger.clone(), name.to_owned());
        let running = tokio::spawn(async move {
            let work = |partition: Partition| {
                ledger.begins(&name, &partition);
                async move {
                    let asked = Arc::new(Notify::new());
                    let asks = asked.clone();
                    let _revoked = partition.on_revoke(move || asks.notify_one());
                    asked.notified().await;
                    Ok::<(), zkrecipes::Error>(())
                }
            };
            // It ends with its client, or by leaving.
            let _ = member.run(work).await;
        });
        Member { client, partitioner, running }
    }

    async fn ends(self) {
        soon("its run ends", self.running).await.expect("no owner of what another one has");
    }
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_partition_has_two_owners_whatever_becomes_of_the_members() {
    let asked = std::env::var("ZKR_PARTITIONS").unwrap_or("8,32,8".to_owned());
    let asked: Vec<usize> = asked.split(',').map(|one| one.parse().expect("a number")).collect();
    let (most, partitions, seconds) = (asked[0], asked[1], asked[2] as u64);
    let (ground, ledger, mut dice) = (ground(), Arc::new(Ledger::default()), Dice(0x5eed));
    let mut members = BTreeMap::new();
    let mut number = 0;
    for _ in 0..most {
        members.insert(number, Member::begin(&ground, partitions, &format!("m{number}"), &ledger).await);
        number += 1;
    }
    until_all_owned(&ledger, partitions, Duration::from_secs(30)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (began, before) = (Instant::now(), *ledger.moves.lock().unwrap());
    let (mut slowest, mut least) = (Duration::ZERO, 0);
    while began.elapsed() < Duration::from_secs(seconds) {
        let at = dice.roll(members.len() as u64) as usize;
        let chosen = *members.keys().nth(at).expect("there is one");
        let owned = ledger.owned_by(members[&chosen].partitioner.name());
        let fate = dice.roll(10);
        match fate {
            0..=2 if members.len() < most => {
                members
                    .insert(number, Member::begin(&ground, partitions, &format!("m{number}"), &ledger).await);
                number += 1;
                least += partitions / members.len();
            }
            3 | 4 if members.len() > most / 2 => {
                let member = members.remove(&chosen).expect("there");
                soon("it leaves", member.partitioner.leave()).await.expect("left");
                member.ends().await;
                least += owned;
            }
            5 | 6 if members.len() > most / 2 => {
                let member = members.remove(&chosen).expect("there");
                drop(member.client.close(None).await);
                member.ends().await;
                least += owned;
            }
            // Ridden out.
            7 => drop(
                ground.inject(
                    Fault::black_hole()
                        .session(members[&chosen].client.session_id())
                        .lasting(Duration::from_millis(700)),
                ),
            ),
            // Its session ends, and what it had moves and comes back.
            8 => {
                let session = members[&chosen].client.session_id();
                ground.inject(Fault::black_hole().session(session).lasting(SESSION * 2));
                least += owned + partitions / members.len();
                tokio::time::sleep(SESSION).await;
            }
            _ => {}
        }
        let since = Instant::now();
        until_all_owned(&ledger, partitions, SESSION * 3).await;
        slowest = slowest.max(since.elapsed());
        tokio::time::sleep(Duration::from_millis(dice.roll(200))).await;
    }
    let moves = *ledger.moves.lock().unwrap() - before;
    eprintln!("{moves} moves where {least} have to be; all were owned again after {slowest:?} at most");
    assert!(moves * 10 <= least * 12, "{moves} moves, of which {least} have to be");
    for (_, member) in members {
        drop(member.client.close(None).await);
        member.ends().await;
    }
    ground.assert_nothing_left("/partitions").await;
}

async fn until_all_owned(ledger: &Ledger, partitions: usize, limit: Duration) {
    let began = Instant::now();
    while ledger.owned() < partitions {
        assert!(began.elapsed() < limit, "{} of {partitions} are owned", ledger.owned());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
