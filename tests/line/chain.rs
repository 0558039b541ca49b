//! A consumer whose handler saves an aggregate: the next event is committed with the effect of the first.

use outbox_runtime::{Consumer, Delivery, LocalBus, Tx};

use crate::{
    models::{
        self,
        account::{Account, AccountEvent},
        order::{Order, OrderEvent},
    },
    relay::quick,
    support::{TestDb, each_database},
};

each_database! {
    async fn an_event_emitted_by_a_handler_travels_on(db: TestDb) {
        models::create_tables(&db).await;
        db.run("CREATE TABLE seen (cents bigint)").await;
        let bus = LocalBus::new(["ledger", "audit"]).unwrap();
        let ledger = Consumer::builder(db.conn.clone(), "ledger").on(async |event: OrderEvent, _: Delivery, tx: &Tx| {
            if let OrderEvent::OrderPlaced(placed) = event {
                let mut account = match Account::find(tx, 1_i64).await? {
                    Some(account) => account,
                    None => Account::open(1),
                };
                account.credit(placed.total_cents);
                account.save(tx).await?;
            }
            Ok(())
        });
        let audit = Consumer::builder(db.conn.clone(), "audit").on(async |event: AccountEvent, _: Delivery, tx: &Tx| {
            let AccountEvent::Credited(credited) = event;
            sea_orm::ConnectionTrait::execute_unprepared(tx, &format!("INSERT INTO seen VALUES ({})", credited.cents)).await?;
            Ok(())
        });
        let (mut ledgers, mut audits) = (ledger.status(), audit.status());
        tokio::spawn(ledger.run(bus.source("ledger").unwrap()));
        tokio::spawn(audit.run(bus.source("audit").unwrap()));
        let relay = quick(&db.conn, bus).start().await.unwrap();
        for cents in 1..=20 {
            Order::place(cents).save(&db.conn).await.unwrap();
        }
        ledgers.wait_for(|status| status.applied == 20 && status.ignored == 20).await.unwrap();
        audits.wait_for(|status| status.applied == 20 && status.ignored == 20).await.unwrap();
        relay.status().wait_for(|status| status.caught_up).await.unwrap();
        relay.stop().await.unwrap();
        assert_eq!(db.count("SELECT CAST(sum(cents) AS bigint) FROM seen").await, 210);
        assert_eq!(db.count("SELECT balance_cents FROM accounts WHERE id = 1").await, 210);
    }
}
