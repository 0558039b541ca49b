//! The input file: real purchases, in the order in which the shop saw them.

use anyhow::{Context as _, Result, ensure};
use chrono::NaiveDate;

const FILE: &str = include_str!("../data/cdnow_sample.txt");

/// One purchase. Its `number` is its place in the stream, counted from 1: the idempotency key of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purchase {
    pub number: i32,
    pub customer: i32,
    pub date: NaiveDate,
    pub discs: i32,
    pub cents: i64,
}

/// All purchases, sorted by date; those of one day stay in the order of the file.
pub fn purchases() -> Result<Vec<Purchase>> {
    let lines = FILE.lines().enumerate();
    let parsed = lines.map(|(at, line)| purchase(line).with_context(|| format!("line {}: {line}", at + 1)));
    let mut purchases = parsed.collect::<Result<Vec<_>>>()?;
    purchases.sort_by_key(|purchase| purchase.date);
    for (number, purchase) in (1..).zip(&mut purchases) {
        purchase.number = number;
    }
    Ok(purchases)
}

fn purchase(line: &str) -> Result<Purchase> {
    let mut fields = line.split_whitespace().skip(1);
    let mut field = || fields.next().context("a field is missing");
    Ok(Purchase {
        number: 0,
        customer: field()?.parse()?,
        date: NaiveDate::parse_from_str(field()?, "%Y%m%d")?,
        discs: field()?.parse()?,
        cents: cents(field()?)?,
    })
}

/// `29.33` is 2933 cents, exactly: no float in between.
fn cents(dollars: &str) -> Result<i64> {
    let (whole, part) = dollars.split_once('.').context("an amount has a decimal point")?;
    ensure!(part.len() == 2, "an amount has two decimals");
    let digits = |text: &str| -> Result<i64> {
        ensure!(text.bytes().all(|byte| byte.is_ascii_digit()), "an amount is made of digits");
        Ok(text.parse()?)
    };
    Ok(digits(whole)? * 100 + digits(part)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact() -> Result<()> {
        assert_eq!(cents("29.33")?, 2_933);
        assert_eq!(cents("0.07")?, 7);
        for wrong in ["29", "29.3", "29.333", "-1.00", "1.-1", "a.bc", ""] {
            assert!(cents(wrong).is_err(), "{wrong}");
        }
        Ok(())
    }

    #[test]
    fn the_stream_is_whole_and_sorted() -> Result<()> {
        let purchases = purchases()?;
        assert_eq!(purchases.len(), 6_919);
        assert!(purchases.is_sorted_by_key(|purchase| (purchase.date, purchase.number)));
        let mut customers: Vec<_> = purchases.iter().map(|purchase| purchase.customer).collect();
        customers.sort_unstable();
        customers.dedup();
        assert_eq!(customers.len(), 2_357);
        Ok(())
    }
}
