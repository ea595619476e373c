//! Sessions and when they end: `due` says whose time is over, and the machine deletes their nodes.

use super::Time;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

/// A session, whether or not somebody is connected to it.
#[derive(Debug)]
struct Session {
    timeout: Duration,
    bucket: u64,
}

/// All sessions, sorted into expiry buckets of one tick: a session ends between its timeout and one tick later.
#[derive(Debug)]
pub struct Sessions {
    tick: u64,
    next_id: i64,
    secret: u128,
    live: HashMap<i64, Session>,
    buckets: BTreeMap<u64, BTreeSet<i64>>,
}

impl Sessions {
    /// `first_id` has the server's number in its high byte, as real ids do; it never is 0xff.
    pub fn new(tick: Duration, first_id: i64, secret: u128) -> Self {
        let tick = (tick.as_millis() as u64).max(1);
        Sessions { tick, next_id: first_id, secret, live: HashMap::new(), buckets: BTreeMap::new() }
    }

    fn bucket(&self, now: Time, timeout: Duration) -> u64 {
        ((now + timeout).as_millis() as u64 / self.tick + 1) * self.tick
    }

    fn file(&mut self, id: i64, now: Time, timeout: Duration) {
        let bucket = self.bucket(now, timeout);
        let Some(session) = self.live.get_mut(&id) else { return };
        if session.bucket != bucket {
            let old = std::mem::replace(&mut session.bucket, bucket);
            self.unfile(id, old);
            self.buckets.entry(bucket).or_default().insert(id);
        }
    }

    fn unfile(&mut self, id: i64, bucket: u64) {
        if let Some(ids) = self.buckets.get_mut(&bucket) {
            ids.remove(&id);
            if ids.is_empty() {
                self.buckets.remove(&bucket);
            }
        }
    }

    /// Ids from here on only.
    pub fn skip_to(&mut self, next_id: i64) {
        self.next_id = self.next_id.max(next_id);
    }

    /// Starts a session.
    pub fn create(&mut self, now: Time, timeout: Duration) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.live.insert(id, Session { timeout, bucket: 0 });
        self.file(id, now, timeout);
        id
    }

    /// A sign of life, with the timeout its connection negotiated. False if the session has ended.
    pub fn touch(&mut self, id: i64, now: Time, timeout: Duration) -> bool {
        self.file(id, now, timeout);
        self.live.contains_key(&id)
    }

    /// Gives every session its whole timeout again, as a restarted server does.
    pub fn restart(&mut self, now: Time) {
        let all: Vec<(i64, Duration)> = self.live.iter().map(|(id, s)| (*id, s.timeout)).collect();
        for (id, timeout) in all {
            self.file(id, now, timeout);
        }
    }

    /// Ends a session; false if there is none.
    pub fn end(&mut self, id: i64) -> bool {
        match self.live.remove(&id) {
            None => false,
            Some(session) => {
                self.unfile(id, session.bucket);
                true
            }
        }
    }

    /// One session whose time has come, earliest first.
    pub fn due(&self, now: Time) -> Option<i64> {
        let (bucket, ids) = self.buckets.first_key_value()?;
        if *bucket <= now.as_millis() as u64 { ids.first().copied() } else { None }
    }

    /// When the next session would end.
    pub fn next_deadline(&self) -> Option<Time> {
        self.buckets.keys().next().map(|ms| Duration::from_millis(*ms))
    }

    /// The id the next session will get.
    pub fn next_id(&self) -> i64 {
        self.next_id
    }

    pub fn timeout(&self, id: i64) -> Duration {
        self.live.get(&id).map(|s| s.timeout).unwrap_or_default()
    }

    /// Takes over a session of an earlier server.
    pub fn adopt(&mut self, id: i64, now: Time, timeout: Duration) {
        self.live.insert(id, Session { timeout, bucket: 0 });
        self.file(id, now, timeout);
    }

    pub fn contains(&self, id: i64) -> bool {
        self.live.contains_key(&id)
    }

    /// Ids of all sessions, sorted.
    pub fn ids(&self) -> Vec<i64> {
        let mut ids: Vec<i64> = self.live.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// Buckets with their sessions, for `dump`.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, &BTreeSet<i64>)> {
        self.buckets.iter().map(|(ms, ids)| (*ms, ids))
    }

    /// The password that lets a client back into its session: a hash of the id and of what only the server knows. Whoever
    /// has that of one session learns nothing of the others.
    pub fn password(&self, id: i64) -> [u8; 16] {
        let mut hash = sha1_smol::Sha1::new();
        hash.update(&self.secret.to_be_bytes());
        hash.update(&id.to_be_bytes());
        let mut password = [0; 16];
        password.copy_from_slice(&hash.digest().bytes()[..16]);
        password
    }

    /// What the passwords are made of, for the server that goes on from here.
    pub fn secret(&self) -> u128 {
        self.secret
    }
}
