//! Which lanes this relay holds, and until when it may send on them.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

use crate::store::{
    StoreError,
    lanes::{Lanes, Lease},
};

/// A lane that this relay holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) fence: i64,
    /// Sending is allowed before this instant. It was taken before the claim or renewal was sent, so the
    /// database's lease ends later whatever the network did.
    pub(super) send_until: Instant,
    /// More than our share: it is emptied, then released.
    pub(super) draining: bool,
}

/// What a round of renewing and claiming found.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) live_relays: u64,
    /// Every lane that is ours now.
    pub(super) held: BTreeMap<i16, Held>,
    /// Lanes whose fence has moved.
    pub(super) lost: Vec<i16>,
    /// Fewer lanes than our share: look again soon.
    pub(super) wants_more: bool,
}

/// How lanes are shared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) lanes: u16,
    pub(super) ttl: Duration,
    /// Held back from the lease for what a send still needs after its check.
    pub(super) margin: Duration,
}

/// Renews what is held, claims up to the share, and marks the surplus as draining.
///
/// `unsettled` lanes are not claimed: sends of an older lease are still in flight there.
pub(super) async fn round(
    table: &Lanes,
    terms: Terms,
    mut held: BTreeMap<i16, Held>,
    unsettled: Vec<i16>,
    accept: bool,
) -> Result<Round, StoreError> {
    let before = Instant::now();
    let send_until = before + terms.ttl.saturating_sub(terms.margin);
    let live_relays = table.heartbeat().await?;
    let renewed = table.renew(&leases(&held)).await?;
    let mut lost = Vec::new();
    held.retain(|lane, lease| {
        let ours = renewed.contains(lane);
        if ours {
            lease.send_until = send_until;
        } else {
            lost.push(*lane);
        }
        ours
    });
    let share = usize::try_from(u64::from(terms.lanes).div_ceil(live_relays.max(1))).unwrap_or(usize::MAX);
    let mut missing = share.saturating_sub(held.len());
    if held.len() <= share {
        // What was to be drained is wanted again.
        for lease in held.values_mut() {
            lease.draining = false;
        }
    } else {
        let surplus = held.len() - share;
        for (nth, lease) in held.values_mut().rev().enumerate() {
            lease.draining = nth < surplus;
        }
    }
    if accept && missing > 0 {
        let before = Instant::now();
        let send_until = before + terms.ttl.saturating_sub(terms.margin);
        let claimed = table.claim(missing, &unsettled).await?;
        missing -= claimed.len().min(missing);
        for Lease { lane, fence } in claimed {
            held.insert(lane, Held { fence, send_until, draining: false });
        }
    }
    Ok(Round { live_relays, held, lost, wants_more: accept && missing > 0 })
}

pub(super) fn leases(held: &BTreeMap<i16, Held>) -> Vec<Lease> {
    held.iter().map(|(lane, held)| Lease { lane: *lane, fence: held.fence }).collect()
}
