//! A worker on a queue, for months. On SIGTERM it takes no further item and finishes those in work; what is not done when the
//! time of grace is over goes back into the queue.
//!
//!     cargo run -p zkrecipes --example queue_worker [zk1:2181]

use std::time::Duration;

use tokio::{sync::oneshot, task::JoinSet, time};
use zkrecipes::{Client, Item, Nack, PutOptions, QueueOptions};

const AT_ONCE: usize = 4;
const GRACE: Duration = Duration::from_secs(10);

async fn send(address: &str) -> Result<(), Nack> {
    if !address.contains('@') {
        return Err(Nack::default().reason("no such address"));
    }
    println!("mail to {address}");
    time::sleep(Duration::from_millis(100)).await;
    println!("sent to {address}");
    Ok(()) // while the mail server is away: Err(Nack::default().delay(Duration::from_secs(60)).reason("no mail server"))
}

async fn work(item: Item) {
    let address = String::from_utf8_lossy(item.data()).into_owned();
    let ended = tokio::select! {
        lost = item.lost() => Err(lost), // another worker has it: what was begun is dropped
        sent = send(&address) => match sent {
            Ok(()) => item.ack().await,
            Err(nack) => item.nack_with(nack).await, // it steps aside, longer with each attempt
        },
    };
    if let Err(error) = ended {
        eprintln!("{address}: {error}");
    }
}

/// What returns when the process is to end.
#[cfg(unix)]
fn end() -> std::io::Result<impl FnOnce() + Send> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT])?;
    Ok(move || {
        signals.forever().next();
    })
}

/// The same where there is no SIGTERM: a line of input ends it. Without an input it goes on.
#[cfg(not(unix))]
fn end() -> std::io::Result<impl FnOnce() + Send> {
    Ok(|| {
        while !matches!(std::io::stdin().read_line(&mut String::new()), Ok(1..)) {
            std::thread::park();
        }
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let end = end()?;
    let (stop, mut stopped) = oneshot::channel();
    std::thread::spawn(move || {
        end();
        stop.send(())
    });

    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;
    let queue = client.queue("/queues/mail", QueueOptions::default().max_attempts(20))?;
    let once = PutOptions::default().key("signup-1042"); // as often as you like: one item
    queue.put_with(b"alice@example.org", once).await?;

    let mut in_work = JoinSet::new();
    let ended = loop {
        while in_work.try_join_next().is_some() {}
        tokio::select! {
            biased;
            _ = &mut stopped => break Ok(()),
            _ = in_work.join_next(), if in_work.len() == AT_ONCE => {}
            // It waits through outages. An error is one that trying again cannot help.
            claimed = queue.claim(), if in_work.len() < AT_ONCE => match claimed {
                Ok(item) => drop(in_work.spawn(work(item))),
                Err(error) => break Err(error.into()),
            },
        }
    };
    let _ = time::timeout(GRACE, async { while in_work.join_next().await.is_some() {} }).await;
    in_work.shutdown().await; // an item that is dropped goes back, as after a nack
    if let Err(error) = client.close(Some(Duration::from_secs(5))).await {
        eprintln!("{error}"); // no server has confirmed: what it held is free after the session timeout
    }
    println!("stopped");
    ended
}
