//! A feed that one thread asks while another one closes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use shuttle::future::block_on;
use shuttle::thread;

use crate::error::Result;
use crate::feed::{Feed, Source};
use crate::happened;

/// It has one item now and then nothing. What it watches ends when it is dropped.
struct Watched {
    items: usize,
    has_ended: Arc<AtomicBool>,
    is_asked: Arc<AtomicUsize>,
}

impl Source<usize> for Watched {
    async fn next(&mut self) -> Result<usize> {
        assert_eq!(self.is_asked.fetch_add(1, Relaxed), 0, "two ask it");
        if self.items == 0 {
            happened("closed while it was asked");
            std::future::pending::<()>().await;
        }
        thread::yield_now();
        self.is_asked.fetch_sub(1, Relaxed);
        self.items -= 1;
        Ok(self.items)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.has_ended.store(true, Relaxed);
    }
}

pub fn a_feed_that_is_closed_ends() {
    let has_ended = Arc::new(AtomicBool::new(false));
    let source = Watched { items: 1, has_ended: has_ended.clone(), is_asked: Arc::default() };
    let feed = Arc::new(shuttle::sync::Mutex::new(Feed::new(source)));
    let closer = feed.lock().expect("no panic").closer();
    let asking = {
        let feed = feed.clone();
        thread::spawn(move || {
            let mut feed = feed.lock().expect("no panic");
            let mut items = 0;
            while block_on(feed.next()).transpose().expect("no error").is_some() {
                items += 1;
            }
            assert!(items <= 1);
        })
    };
    let closing = thread::spawn(move || closer.close());
    closing.join().expect("it waits for nobody");
    asking.join().expect("it is told");
    assert!(has_ended.load(Relaxed), "it is watched for nobody");
    drop(feed);
}
