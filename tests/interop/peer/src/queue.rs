//! The Rust worker at a queue; tests/crowds/README.md says what a worker does.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use zkrecipes::{Client, ClientOptions, ErrorKind, Queue, QueueOptions};

/// How many items are put at once, and how large each is.
const BATCH: usize = 100;
const SIZE: usize = 100;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [hosts, path, session, bound, role, rest @ ..] = &arguments[..] else {
        return Err("usage: queue-worker HOSTS PATH SESSION BOUND put|get|claim …".into());
    };
    let options = ClientOptions::default()
        .session_timeout(Duration::from_millis(session.parse()?))
        .connect_timeout(Duration::from_secs(60));
    let client = Client::connect(hosts, options).await?;
    match (&**role, rest) {
        ("put", [first, last]) => {
            let queue = client.queue(path, QueueOptions::default().max_items(bound.parse()?))?;
            let numbers: Vec<usize> = (first.parse()?..last.parse()?).collect();
            for batch in numbers.chunks(BATCH) {
                let items: Vec<_> = batch.iter().map(|number| format!("{number:<SIZE$}")).collect();
                queue.put_many(&items).await?;
            }
            client.close(None).await?;
        }
        (_, [calls, port, counter @ ..]) => {
            let queue = client.queue(path, QueueOptions::default())?;
            let register = Arc::new(TcpStream::connect(("127.0.0.1", port.parse()?))?);
            let consume = |_| {
                let consumer = Consumer {
                    client: client.clone(),
                    queue: queue.clone(),
                    counter: counter.first().cloned(),
                    register: register.clone(),
                };
                tokio::spawn(consumer.consume())
            };
            let consumers: Vec<_> = (0..calls.parse()?).map(consume).collect();
            tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
            client.close(None).await?;
            for consumer in consumers {
                consumer.await??;
            }
        }
        _ => return Err("put takes FIRST LAST, get CALLS PORT, claim CALLS PORT COUNTER".into()),
    }
    Ok(())
}

struct Consumer {
    client: Client,
    queue: Queue,
    /// The node that counts what was acknowledged; for claims.
    counter: Option<String>,
    register: Arc<TcpStream>,
}

impl Consumer {
    async fn consume(self) -> Outcome<()> {
        loop {
            match self.take().await {
                Ok(item) => {
                    let number: usize = std::str::from_utf8(&item)?.trim_end().parse()?;
                    (&*self.register).write_all(format!("{number}\n").as_bytes())?;
                }
                Err(error) => match error.kind() {
                    ErrorKind::Closed => return Ok(()),
                    // Nobody knows what became of the item.
                    ErrorKind::ConnectionLost => (&*self.register).write_all(b"?\n")?,
                    ErrorKind::NotHeld => {}
                    _ => return Err(error.into()),
                },
            }
        }
    }

    async fn take(&self) -> zkrecipes::Result<Vec<u8>> {
        let Some(counter) = &self.counter else { return self.queue.get().await };
        let item = self.queue.claim().await?;
        let done = self.client.nodes().transaction();
        done.set(counter, b"", None)?;
        item.ack_with(&done).await?;
        Ok(item.data().to_vec())
    }
}
