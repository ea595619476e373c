//! Who is there: members join, change what they say, and leave.
//!
//!     cargo run -p zkrecipes --example group [zk1:2181]
//!     cargo run -p zkrecipes --example group zk1:2181 list        lists the members for ever

use zkrecipes::{Client, GroupEvent, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    let workers = client.group("/examples/workers", Default::default())?;
    if std::env::args().nth(2).is_some_and(|word| word == "list") {
        let mut events = workers.watch();
        while events.next().await.transpose()?.is_some() {
            println!("{:?}", workers.members().await?.keys());
        }
    }

    let mut events = client.group("/examples/workers", Default::default())?.watch();
    while let Some(event) = events.next().await.transpose()? {
        // Each event is the reason for the next one here.
        match event {
            GroupEvent::Snapshot(members) => {
                println!("{} members at first", members.len());
                workers.join("worker-1", b"idle").await?;
            }
            GroupEvent::Joined { name, data } => {
                println!("{name} has joined, {}", String::from_utf8_lossy(&data));
                workers.update(b"busy").await?;
            }
            GroupEvent::Changed { name, data } => {
                println!("{name} is {}", String::from_utf8_lossy(&data));
                workers.leave().await?;
            }
            GroupEvent::Left { name } => {
                println!("{name} has left");
                break;
            }
            _ => {}
        }
    }

    client.close(None).await
}
