//! What a handle says of what was acquired through it: the same from every recipe, async and blocking.

use std::sync::mpsc::channel;
use std::time::Duration;

use crate::support::ground::grounds;
use crate::support::{SOON, lock_of};
use zkrecipes::{Client, ErrorKind, Held, Lock, MultiLock, Result, Semaphore, Subscription, blocking};

const PATH: &str = "/locks/handles";
const TEN: Duration = Duration::from_secs(10);
const BRIEF: Duration = Duration::from_millis(50);

fn pair(client: &Client) -> MultiLock {
    let of = |name: &str| lock_of(client, &format!("{PATH}/{name}"));
    client.multi_lock(&[of("b"), of("a")]).expect("valid")
}

fn permits(client: &Client) -> Semaphore {
    client.semaphore(&format!("{PATH}/permits"), 1).expect("valid")
}

/// Somebody who asks is heard through the handle; nobody is before anything is held.
macro_rules! hears {
    ($handle:ident, $acquire:expr, $ask:expr) => {
        let hear = || {
            let (sender, asked) = channel();
            let heard: Result<Subscription> = $handle.on_revoke(move || _ = sender.send(()));
            heard.map(|subscription| (subscription, asked))
        };
        assert_eq!(hear().map(drop).expect_err("nothing is held").kind(), ErrorKind::NotHeld);
        let held = $acquire.expect("free");
        let (_, asked) = hear().expect("held");
        let (unwanted, unheard) = hear().expect("held");
        unwanted.unsubscribe();
        assert!($ask.expect("asked"));
        asked.recv_timeout(SOON).expect("the handle's owner hears of it");
        assert!($handle.is_held(), "asking takes nothing away");
        let (_, at_once) = hear().expect("held");
        at_once.recv_timeout(SOON).expect("at once, as somebody has asked already");
        assert!(unheard.try_recv().is_err());
        drop(held);
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_of_a_handle_hears_that_it_is_asked_for_what_it_holds() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let (mine, theirs): (Lock, Lock) = (lock_of(&a, PATH), lock_of(&b, PATH));
        hears!(mine, mine.acquire().await, theirs.revoke(None, None).await);
        let (mine, theirs) = (pair(&a), pair(&b));
        hears!(mine, mine.acquire().await, theirs.revoke(None, None).await);
        let (mine, theirs) = (permits(&a), permits(&b));
        hears!(mine, mine.acquire(1).await, theirs.revoke(None, None).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_is_given_to_every_recipe_in_the_same_way() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let in_vain = |waited: Result<Held>| {
            assert_eq!(waited.map(drop).expect_err("somebody has it").kind(), ErrorKind::Timeout);
        };
        let held = pair(&a).acquire_timeout(TEN).await.expect("free");
        in_vain(pair(&b).acquire_timeout(BRIEF).await);
        held.release().await.expect("released");
        let held = permits(&a).acquire_timeout(1, TEN).await.expect("free");
        in_vain(permits(&b).acquire_timeout(1, BRIEF).await);
        held.release().await.expect("released");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_multi_lock_says_all_its_tokens_while_it_holds() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let both = pair(&client);
        let unheld = |both: &MultiLock| both.fencing_tokens().expect_err("nothing is held").kind();
        assert_eq!(unheld(&both), ErrorKind::NotHeld);
        let held = both.acquire().await.expect("free");
        let tokens = both.fencing_tokens().expect("held");
        assert_eq!(tokens, held.fencing_tokens());
        assert_eq!((tokens.len(), tokens[0]), (2, both.fencing_token().expect("held")));
        held.release().await.expect("released");
        assert_eq!(unheld(&both), ErrorKind::NotHeld);
    }
}

#[test]
fn the_blocking_face_says_all_that_the_other_one_says() -> Result<()> {
    let client = blocking::Client::connect("embedded:/handles", Default::default())?;
    let (a, b) = (client.lock("/a", Default::default())?, client.lock("/b", Default::default())?);
    hears!(a, a.acquire(), a.revoke(None, None));

    let both = client.multi_lock(&[b, a])?;
    assert_eq!(both.paths(), ["/a", "/b"]);
    hears!(both, both.acquire_timeout(TEN), both.revoke(None, None));
    let held = both.acquire()?;
    assert_eq!(both.fencing_tokens()?, held.fencing_tokens());
    assert!(!held.is_released());
    held.leave(false)?;
    assert!(held.is_released());
    held.leave(false)?;

    let semaphore = client.semaphore("/permits", 2)?;
    assert_eq!((semaphore.path(), semaphore.permits()), ("/permits", 2));
    hears!(semaphore, semaphore.acquire_timeout(2, TEN), semaphore.revoke(None, None));

    let sides = client.read_write_lock("/sides")?;
    assert_eq!(sides.path(), "/sides");
    let writing = sides.write().acquire()?;
    client.nodes().delete(writing.node(), None)?;
    assert_eq!(writing.leave(false).expect_err("it was deleted").kind(), ErrorKind::Lost);

    let (sender, delivered) = channel();
    client.deliver_through(move |_, job| _ = sender.send(job));
    let (told, states) = channel();
    let _watching = client.on_state(move |state| _ = told.send(state));
    client.close_in_background();
    while states.try_recv() != Ok(zkrecipes::State::Closed) {
        delivered.recv_timeout(SOON).expect("the end is told")();
    }
    Ok(())
}
