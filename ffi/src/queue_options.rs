//! How a queue behaves, in whichever order its items are taken.

use std::mem::offset_of;

use zkrecipes::{QueueLayout, QueueOptions, Result};

use crate::options::{Flag, SelfSized, choice};

/// Whose queue a zkr_queue takes part in.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_queue_layout {
    // --- generated from api: values of QueueLayout
    /// Curator's SimpleDistributedQueue, which is ZooKeeper's own recipe; kazoo's Queue where the naming is kazoo's.
    ZKR_QUEUE_LAYOUT_SIMPLE = 0,
    /// Curator's DistributedQueue, with its item encoding.
    ZKR_QUEUE_LAYOUT_DISTRIBUTED = 1,
    /// kazoo's LockingQueue, where the naming is kazoo's.
    ZKR_QUEUE_LAYOUT_LOCKING = 2,
    // --- end of generated
}

/// A zkr_queue_layout from C.
#[repr(transparent)]
#[derive(Copy, Clone)]
pub struct GivenQueueLayout(i32);

/// How a zkr_queue, a zkr_priority_queue or a zkr_delay_queue behaves. Start from ZKR_QUEUE_OPTIONS_INIT, which has the
/// defaults.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct zkr_queue_options {
    /// sizeof(zkr_queue_options), as ZKR_QUEUE_OPTIONS_INIT sets it.
    pub size: usize,
    /// How many items there may be (any negative: no bound). All who put have to give the same number; a full queue makes
    /// them wait.
    pub max_items: i64,
    /// How often an item is claimed before it goes to the dead letters (any negative: 16, the default; 0: there is no end).
    pub max_attempts: i64,
    /// Over how many nodes the items are spread (1). More is faster, and keeps the order only within each.
    pub shards: usize,
    /// Whose queue it takes part in (ZKR_QUEUE_LAYOUT_SIMPLE). Priority and delay queues have one layout with each naming.
    pub layout: GivenQueueLayout,
    /// Whether an item goes when the session of the client that put it ends (false).
    pub ephemeral: Flag,
    /// Zero.
    pub reserved: [u8; 3],
}

impl SelfSized for zkr_queue_options {
    const INIT: &'static str = "ZKR_QUEUE_OPTIONS_INIT";
    const LEAST: usize = offset_of!(zkr_queue_options, reserved) + 3;

    fn defaults() -> zkr_queue_options {
        zkr_queue_options {
            size: size_of::<zkr_queue_options>(),
            max_items: -1,
            max_attempts: -1,
            shards: 1,
            layout: GivenQueueLayout(0),
            ephemeral: Flag::default(),
            reserved: [0; 3],
        }
    }

    fn reserved(&self) -> Vec<u8> {
        self.reserved.to_vec()
    }
}

impl zkr_queue_options {
    pub(crate) fn convert(&self) -> Result<QueueOptions> {
        let mut options = QueueOptions::default()
            .shards(self.shards)
            .ephemeral(self.ephemeral.get("ephemeral")?)
            .layout(self.layout()?);
        // What is more than fits is no bound that anybody reaches.
        options.max_items = usize::try_from(self.max_items).ok();
        if self.max_attempts >= 0 {
            options.max_attempts = self.max_attempts.try_into().unwrap_or(u32::MAX);
        }
        Ok(options)
    }

    fn layout(&self) -> Result<QueueLayout> {
        use zkr_queue_layout::*;
        let all = [ZKR_QUEUE_LAYOUT_SIMPLE, ZKR_QUEUE_LAYOUT_DISTRIBUTED, ZKR_QUEUE_LAYOUT_LOCKING];
        Ok(match choice("layout", self.layout.0, &all)? {
            ZKR_QUEUE_LAYOUT_SIMPLE => QueueLayout::Simple,
            ZKR_QUEUE_LAYOUT_DISTRIBUTED => QueueLayout::Distributed,
            ZKR_QUEUE_LAYOUT_LOCKING => QueueLayout::Locking,
        })
    }
}
