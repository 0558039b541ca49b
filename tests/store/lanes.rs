//! Lanes are part of the stored format.

use outbox_runtime::{SaveError, lane_of, prelude::*};

use crate::{
    models::{
        self,
        order::Order,
        payload::{Empty, Parcel},
        seat::Seat,
        tally::Tally,
    },
    support::{Failed, TestDb, each_database},
};

/// Computed with Python's `xxhash` 3.x: `xxh3_64_intdigest(type + b"\0" + id) & 0x7fffffff`, modulo the lanes.
/// A program that disagrees would split an aggregate over two lanes.
#[test]
fn the_lane_of_an_aggregate_never_changes() {
    for (aggregate_type, aggregate_id, lanes, lane) in [
        ("order", "42", 64, 28),
        ("order", "42", 1, 0),
        ("order", "0193d7f0-0000-7000-8000-000000000000", 64, 47),
        ("seat", "a~1b~0/7", 16, 13),
        ("parcel", "", 64, 23),
        ("customer", "1", 1024, 822),
        ("köche", "日本/é", 7, 5),
        ("a", &"b".repeat(255), 1000, 510),
    ] {
        assert_eq!(lane_of(aggregate_type, aggregate_id, lanes), Some(lane), "{aggregate_type} {aggregate_id}");
    }
    assert_eq!(lane_of("order", "42", 0), None);
}

each_database! {
    async fn the_lane_stored_is_the_lane_computed(db: TestDb) {
        models::create_tables(&db).await;
        Order::place(1).save(&db.conn).await.unwrap();
        Seat::take("a/b~", 7, "x").save(&db.conn).await.unwrap();
        for id in ["", "42", "日本", "a/b", &"k".repeat(255)] {
            let mut parcel = Parcel::with_id(id);
            parcel.emit(Empty {});
            parcel.save(&db.conn).await.unwrap();
        }
        let mut tallies: Vec<_> = (0..100).map(|id| Tally::open(id, 0)).collect();
        save_all(&mut tallies, &db.conn).await.unwrap();
        let log = db.log().await;
        assert_eq!(log.len(), 107);
        for event in &log {
            assert_eq!(event.lane, lane_of(&event.aggregate_type, &event.aggregate_id, 64).map(i32::from), "{event:?}");
        }
        let used: std::collections::BTreeSet<_> = log.iter().map(|event| event.lane).collect();
        assert!(used.len() > 40, "a hundred aggregates share {} lanes", used.len());
    }
}

each_database! {
    async fn without_the_number_of_lanes_a_save_fails_and_loses_nothing(db: TestDb) {
        models::create_tables(&db).await;
        db.run("DELETE FROM outbox_meta").await;
        let mut tally = Tally::open(1, 0);
        assert!(matches!(tally.save(&db.conn).await, Err(SaveError::Db { .. })));
        let outcome = transact(&db.conn, TxPolicy::default(), async |tx| -> Result<(), Failed> {
            let _ = tally.clone().save(tx).await;
            Ok(())
        })
        .await;
        assert!(outcome.is_err());
        assert_eq!(db.stored("tallies").await, [0; 4]);
        db.run("INSERT INTO outbox_meta (lanes, schema_version) VALUES (64, 1)").await;
        tally.save(&db.conn).await.unwrap();
        assert_eq!(db.stored("tallies").await, [1; 4]);
    }
}

mod renamed {
    //! The same table before and after its aggregate was renamed.
    pub mod before {
        use outbox_runtime::prelude::*;
        use sea_orm::entity::prelude::*;

        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
        #[event(type = "bill.sent", version = 1)]
        pub struct BillSent {}

        #[aggregate(root = Bill, name = "bill", events(BillSent))]
        #[sea_orm::model]
        #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
        #[sea_orm(table_name = "bills")]
        pub struct Model {
            #[sea_orm(primary_key, auto_increment = false)]
            pub id: i64,
        }
        impl ActiveModelBehavior for ActiveModel {}
    }
    pub mod after {
        use outbox_runtime::prelude::*;
        use sea_orm::entity::prelude::*;

        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
        #[event(type = "invoice.sent", version = 1)]
        pub struct InvoiceSent {}

        #[aggregate(root = Invoice, name = "invoice", formerly = "bill", events(InvoiceSent))]
        #[sea_orm::model]
        #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
        #[sea_orm(table_name = "bills")]
        pub struct Model {
            #[sea_orm(primary_key, auto_increment = false)]
            pub id: i64,
        }
        impl ActiveModelBehavior for ActiveModel {}
    }
}

each_database! {
    async fn a_renamed_aggregate_keeps_its_lane_and_its_sequence(db: TestDb) {
        use renamed::{after::{self, Invoice, InvoiceSent}, before::{self, Bill, BillSent}};
        use sea_orm::Set;
        db.create_table(before::Entity).await;
        let mut bill = Bill::new(before::ActiveModel { id: Set(42) });
        bill.emit(BillSent {});
        bill.emit(BillSent {});
        bill.save(&db.conn).await.unwrap();
        let mut invoice = Invoice::from(after::Model { id: 42 });
        invoice.emit(InvoiceSent {});
        assert_eq!(invoice.save(&db.conn).await.unwrap().events[0].aggregate_sequence, 3);
        let log = db.log().await;
        assert_eq!(log.iter().map(|event| event.aggregate_type.as_str()).collect::<Vec<_>>(), ["bill", "bill", "invoice"]);
        assert!(log.iter().all(|event| event.lane == lane_of("bill", "42", 64).map(i32::from)));
    }
}
