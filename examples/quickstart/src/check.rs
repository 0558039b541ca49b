//! Compares what should have happened, told from the input file, with what the consumers wrote down.

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use crate::{input::Purchase, loyalty::Tier};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Purchase,
    Raise,
}

/// Something that happened to a customer. Of one kind, a customer's numbers rise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fact {
    pub kind: Kind,
    pub customer: i32,
    /// The purchase's number, or the rank of the tier.
    pub number: i32,
    pub cents: i64,
}

impl Fact {
    pub fn purchase(customer: i32, number: i32, cents: i64) -> Self {
        Self { kind: Kind::Purchase, customer, number, cents }
    }

    pub fn raise(customer: i32, tier: Tier, spent_cents: i64) -> Self {
        Self { kind: Kind::Raise, customer, number: tier.rank(), cents: spent_cents }
    }
}

/// One consumer's effects, in the order in which they took place.
#[derive(Clone, Debug)]
pub struct Book {
    /// The facts that this consumer listens to.
    pub kind: Kind,
    pub effects: Vec<Fact>,
}

impl Book {
    /// The facts without an effect.
    pub fn missing(&self, facts: &[Fact]) -> impl Iterator<Item = Fact> {
        let seen: HashSet<Fact> = self.effects.iter().copied().collect();
        facts.iter().copied().filter(move |fact| fact.kind == self.kind && !seen.contains(fact))
    }
}

/// Every event that the input file asks for: a purchase each, and one whenever a tier is reached.
pub fn asked_for(purchases: &[Purchase]) -> Vec<Fact> {
    let mut spent: HashMap<i32, i64> = HashMap::new();
    let mut facts = Vec::new();
    for &Purchase { number, customer, cents, .. } in purchases {
        facts.push(Fact::purchase(customer, number, cents));
        let spent = spent.entry(customer).or_default();
        let before = Tier::of(*spent);
        *spent += cents;
        if Tier::of(*spent) > before {
            facts.push(Fact::raise(customer, Tier::of(*spent), *spent));
        }
    }
    facts
}

/// The last line of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Events that the file asks for.
    pub events: usize,
    /// Those with an effect at one consumer or more.
    pub published: usize,
    /// Effects that are missing, over all consumers.
    pub lost: usize,
    /// Effects that nothing in the file asks for.
    pub phantom: usize,
    /// Effects that came after one with a higher number of the same customer.
    pub inversions: usize,
    /// Effects beyond one per event and consumer.
    pub double_effects: usize,
}

impl Verdict {
    pub fn is_clean(&self) -> bool {
        let Self { events, published, lost, phantom, inversions, double_effects } = *self;
        events == published && [lost, phantom, inversions, double_effects] == [0; 4]
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { events, published, lost, phantom, inversions, double_effects } = self;
        write!(f, "events={events} published={published} lost={lost} phantom={phantom} ")?;
        write!(f, "inversions={inversions} double_effects={double_effects}")
    }
}

/// Reads the books of all consumers against the facts of the file.
pub fn check(facts: &[Fact], books: &[Book]) -> Verdict {
    let asked: HashSet<Fact> = facts.iter().copied().collect();
    let mut published = HashSet::new();
    let mut verdict = Verdict { events: asked.len(), ..Verdict::default() };
    for book in books {
        let mut seen = HashSet::new();
        let mut highest: HashMap<i32, i32> = HashMap::new();
        for fact in &book.effects {
            if !asked.contains(fact) {
                verdict.phantom += 1;
            } else if !seen.insert(*fact) {
                verdict.double_effects += 1;
            } else {
                let highest = highest.entry(fact.customer).or_insert(fact.number);
                verdict.inversions += usize::from(fact.number < *highest);
                *highest = fact.number.max(*highest);
            }
        }
        verdict.lost += book.missing(facts).count();
        published.extend(seen);
    }
    verdict.published = published.len();
    verdict
}

#[cfg(test)]
mod tests;
