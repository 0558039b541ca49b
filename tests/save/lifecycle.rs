//! One root from its first save to its delete.

use crate::{
    models::{
        self,
        cart::Cart,
        customer::Customer,
        order::Order,
        seat::{Seat, SeatTaken},
    },
    support::{TestDb, each_database},
};

each_database! {
    async fn every_shape_of_aggregate_is_saved(db: TestDb) {
        models::create_tables(&db).await;
        let saved = Order::place(500).save(&db.conn).await.unwrap();
        assert_eq!((saved.total_cents, saved.events[0].aggregate_sequence), (500, 1));

        let customer = Customer::register("  Ana ").save(&db.conn).await.unwrap();
        assert_eq!((customer.name.as_str(), customer.aggregate_id.as_str()), ("Ana", customer.id.to_string().as_str()));

        let mut seat = Seat::take("a/b~", 7, "zed");
        assert_eq!(seat.save(&db.conn).await.unwrap().aggregate_id, "a~1b~0/7");
        seat.emit(SeatTaken { by: "nobody".into() });
        assert_eq!(seat.delete(&db.conn).await.unwrap().events[0].aggregate_sequence, 2);
        // The sequence outlives the row.
        assert_eq!(Seat::take("a/b~", 7, "new").save(&db.conn).await.unwrap().events[0].aggregate_sequence, 3);

        let mut cart = Cart::open("c1", "ana");
        cart.add("pen");
        cart.add("ink");
        assert_eq!(cart.save(&db.conn).await.unwrap().events.len(), 2);
        cart.add("paper");
        cart.save(&db.conn).await.unwrap();
        assert_eq!(db.count("SELECT count(*) FROM cart_lines WHERE cart_id = 'c1'").await, 3);
        assert_eq!(db.count("SELECT count(*) FROM outbox_events").await, 8);
        assert_eq!(db.count("SELECT count(*) FROM outbox_pending").await, 8);
    }
}
