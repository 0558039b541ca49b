//! The aggregate id is the row's key as text, whatever type that has.

use outbox_runtime::SaveError;
use sea_orm::ActiveValue::NotSet;
use uuid::Uuid;

use crate::{
    models::{
        self,
        account::{self, Account},
        cart::Cart,
        customer::Customer,
        order::{Order, OrderRaised},
        payload::{Empty, Parcel},
        seat::Seat,
        shelf::{
            by_kind::{Kind as ShelfKind, KindShelf},
            by_number::NumberShelf,
        },
        tally::Tally,
    },
    support::{Kind, TestDb, each_database},
};

fn parcel(id: &str) -> Parcel {
    let mut parcel = Parcel::with_id(id);
    parcel.emit(Empty {});
    parcel
}

each_database! {
    async fn every_type_of_key_becomes_the_aggregate_id(db: TestDb) {
        models::create_tables(&db).await;
        let id = Uuid::now_v7();
        assert_eq!(Order::place_as(id, 1).save(&db.conn).await.unwrap().aggregate_id, id.to_string());
        for id in [0, -7, i64::MIN, i64::MAX] {
            assert_eq!(Tally::open(id, 1).save(&db.conn).await.unwrap().aggregate_id, id.to_string());
        }
        assert_eq!(Customer::register("a").save(&db.conn).await.unwrap().aggregate_id, "1");
        assert_eq!(Customer::register("b").save(&db.conn).await.unwrap().aggregate_id, "2");
        assert_eq!(NumberShelf::fill(-3, 1).save(&db.conn).await.unwrap().aggregate_id, "-3");
        assert_eq!(KindShelf::fill(ShelfKind::Books, 1).save(&db.conn).await.unwrap().aggregate_id, "books");
        assert_eq!(KindShelf::fill(ShelfKind::Tools, 1).save(&db.conn).await.unwrap().aggregate_id, "tools/heavy");
        let mut cart = Cart::open("c/1", "ana");
        cart.add("pen");
        assert_eq!(cart.save(&db.conn).await.unwrap().aggregate_id, "c/1");
        let log = db.log().await;
        assert_eq!(log.len(), 11);
        assert!(log.iter().all(|event| event.sequence == 1));
    }
}

each_database! {
    async fn texts_of_every_kind_are_ids_up_to_255_characters(db: TestDb) {
        models::create_tables(&db).await;
        let (longest, too_long) = ("🦀".repeat(255), "🦀".repeat(256));
        for id in ["", " ", "a/b", "~", "a~1b", "日本", "e\u{301}", "é", "'; --", "%_", "\"", "null", longest.as_str()] {
            let saved = parcel(id).save(&db.conn).await.unwrap_or_else(|error| panic!("{id:?}: {error:?}"));
            assert_eq!((saved.aggregate_id.as_str(), saved.events[0].aggregate_sequence), (id, 1));
            let mut again = Parcel::from(saved.model);
            again.emit(Empty {});
            assert_eq!(again.save(&db.conn).await.unwrap().events[0].aggregate_sequence, 2, "{id:?}");
            again.emit(Empty {});
            assert_eq!(again.delete(&db.conn).await.unwrap().aggregate_id, id);
        }
        let refused = parcel(&too_long).save(&db.conn).await;
        assert!(matches!(&refused, Err(SaveError::Key { aggregate: "parcel", problem }) if problem.contains("256")), "{refused:?}");
        let refused = parcel(&too_long).delete(&db.conn).await;
        assert!(matches!(refused, Err(SaveError::Key { .. })));
        let refused = parcel("a\0b").save(&db.conn).await;
        match db.kind {
            Kind::Sqlite => assert!(matches!(refused, Err(SaveError::Key { .. })), "{refused:?}"),
            Kind::Postgres => assert!(matches!(refused, Err(SaveError::Db { .. })), "{refused:?}"),
        }
        assert_eq!(db.stored("parcels").await, [0, 39, 39, 13]);
    }
}

each_database! {
    async fn two_spellings_are_two_aggregates(db: TestDb) {
        models::create_tables(&db).await;
        for (id, sequence) in [("AbC", 1), ("aBc", 1), ("abc", 1), ("abc ", 1), ("ａｂｃ", 1)] {
            assert_eq!(parcel(id).save(&db.conn).await.unwrap().events[0].aggregate_sequence, sequence, "{id:?}");
        }
        assert_eq!(db.rows("outbox_sequences").await, 5);
        // The same id of another type is another aggregate as well.
        Tally::open(5, 0).save(&db.conn).await.unwrap();
        let mut account = Account::open(5);
        account.credit(1);
        assert_eq!(account.save(&db.conn).await.unwrap().events[0].aggregate_sequence, 1);
    }
}

each_database! {
    async fn parts_of_a_composite_key_cannot_be_confused(db: TestDb) {
        models::create_tables(&db).await;
        for (show, number, id) in [
            ("a", 1, "a/1"),
            ("a/1", 1, "a~11/1"),
            ("a~1", 1, "a~01/1"),
            ("a~01", 1, "a~001/1"),
            ("", -1, "/-1"),
            ("/", 0, "~1/0"),
            ("~", 0, "~0/0"),
        ] {
            let mut seat = Seat::take(show, number, "x");
            let saved = seat.save(&db.conn).await.unwrap();
            assert_eq!((saved.aggregate_id.as_str(), saved.events[0].aggregate_sequence), (id, 1));
            // A delete encodes it in the same way.
            seat.emit(crate::models::seat::SeatTaken { by: "nobody".into() });
            assert_eq!(seat.delete(&db.conn).await.unwrap().aggregate_id, id);
        }
        // Encoded, not raw, it must fit: each `/` takes two characters.
        assert!(matches!(Seat::take(&"/".repeat(127), 1, "x").save(&db.conn).await, Err(SaveError::Key { .. })));
        Seat::take(&"/".repeat(126), 1, "x").save(&db.conn).await.unwrap();
    }
}

each_database! {
    async fn a_key_that_is_not_set_is_refused_before_a_delete(db: TestDb) {
        models::create_tables(&db).await;
        let mut account = Account::new(account::ActiveModel { id: NotSet, ..Default::default() });
        assert!(matches!(account.delete(&db.conn).await, Err(SaveError::Key { aggregate: "account", .. })));
        let mut order = Order::place(1);
        order.emit(OrderRaised { by_cents: 0 });
        assert!(matches!(order.delete(&db.conn).await, Err(SaveError::NotFound { .. })), "it was never inserted");
        assert_eq!(db.stored("orders").await, [0; 4]);
    }
}
