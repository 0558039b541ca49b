//! The tables come and go with the user's own migrations.

use outbox_runtime::{inbox_migrations, migrations, outbox_migrations};
use sea_orm::{ConnectionTrait as _, DbErr};
use sea_orm_migration::{MigrationName, MigrationTrait, MigratorTrait, SchemaManager};

use crate::{
    models::{self, tally::Tally},
    support::{Kind, TestDb},
};

/// A table of the user's own.
struct Users;
impl MigrationName for Users {
    fn name(&self) -> &'static str {
        "m20200101_000001_users"
    }
}
#[async_trait::async_trait]
impl MigrationTrait for Users {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.get_connection().execute_unprepared("CREATE TABLE users (id bigint PRIMARY KEY)").await.map(drop)
    }
    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.get_connection().execute_unprepared("DROP TABLE users").await.map(drop)
    }
}

struct Before;
impl MigratorTrait for Before {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![Box::new(Users)]
    }
}

/// Ours added later, and first in the list, as the book says.
struct After;
impl MigratorTrait for After {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        let mut all = migrations();
        all.push(Box::new(Users));
        all
    }
}

struct WithLanes<const LANES: u16>;
impl<const LANES: u16> MigratorTrait for WithLanes<LANES> {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        let mut all = outbox_migrations(LANES);
        all.extend(inbox_migrations());
        all
    }
}

/// Tables and views beside those of SeaORM and the user.
async fn ours(db: &TestDb) -> Vec<String> {
    let sqlite = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%' \
        AND name NOT IN ('seaql_migrations', 'users') ORDER BY 1";
    let postgres = "SELECT CAST(table_name AS text) FROM information_schema.tables WHERE table_schema = 'public' \
        AND table_name NOT IN ('seaql_migrations', 'users') ORDER BY 1";
    db.texts(db.either(sqlite, postgres)).await
}

/// On a database without any table of ours.
macro_rules! each_empty_database {
    (async fn $name:ident($db:ident: TestDb) $body:block) => {
        mod $name {
            use super::*;
            async fn check($db: TestDb) $body
            #[tokio::test]
            async fn sqlite() {
                check(TestDb::empty(Kind::Sqlite).await).await;
            }
            #[tokio::test]
            async fn postgres() {
                check(TestDb::empty(Kind::Postgres).await).await;
            }
        }
    };
}

each_empty_database! {
    async fn up_down_and_up_again_on_a_fresh_database(db: TestDb) {
        WithLanes::<64>::status(&db.conn).await.unwrap();
        assert_eq!(WithLanes::<64>::get_pending_migrations(&db.conn).await.unwrap().len(), 2);
        WithLanes::<64>::up(&db.conn, None).await.unwrap();
        let made = ours(&db).await;
        assert!(made.contains(&"outbox_events".into()) && made.contains(&"processed_events".into()), "{made:?}");
        assert!(WithLanes::<64>::get_pending_migrations(&db.conn).await.unwrap().is_empty());
        WithLanes::<64>::up(&db.conn, None).await.unwrap();
        WithLanes::<64>::status(&db.conn).await.unwrap();
        models::create_tables(&db).await;
        Tally::open(1, 0).save(&db.conn).await.unwrap();
        db.run("DROP TABLE tallies").await;

        WithLanes::<64>::down(&db.conn, Some(1)).await.unwrap();
        assert!(!ours(&db).await.contains(&"processed_events".into()));
        assert!(ours(&db).await.contains(&"outbox_events".into()));
        WithLanes::<64>::down(&db.conn, None).await.unwrap();
        assert!(ours(&db).await.iter().all(|table| !table.starts_with("outbox") && !table.starts_with("consumer")));
        WithLanes::<64>::up(&db.conn, None).await.unwrap();
        assert!(made.iter().all(|table| made.contains(table)));
        assert_eq!(db.stored("outbox_lanes").await, [64, 0, 0, 0]);
    }
}

each_empty_database! {
    async fn ours_are_added_before_migrations_that_were_applied_long_ago(db: TestDb) {
        Before::up(&db.conn, None).await.unwrap();
        db.run("INSERT INTO users VALUES (1)").await;
        assert_eq!(After::get_pending_migrations(&db.conn).await.unwrap().len(), 2);
        After::up(&db.conn, None).await.unwrap();
        assert!(After::get_pending_migrations(&db.conn).await.unwrap().is_empty());
        assert_eq!((db.rows("users").await, db.rows("outbox_lanes").await), (1, 64));
        After::down(&db.conn, None).await.unwrap();
        assert_eq!(ours(&db).await, Vec::<String>::new());
        After::up(&db.conn, None).await.unwrap();
        assert_eq!((db.rows("users").await, db.rows("outbox_lanes").await), (0, 64));
    }
}

async fn assert_refused<M: MigratorTrait>(db: &TestDb) {
    let refused = M::up(&db.conn, None).await;
    assert!(matches!(&refused, Err(DbErr::Migration(text)) if text.contains("1 to 1024 lanes")), "{refused:?}");
    assert_eq!(ours(db).await, Vec::<String>::new());
    assert_eq!(M::get_applied_migrations(&db.conn).await.unwrap().len(), 0);
}

each_empty_database! {
    async fn a_number_of_lanes_out_of_range_is_refused_and_leaves_nothing(db: TestDb) {
        assert_refused::<WithLanes<0>>(&db).await;
        assert_refused::<WithLanes<1025>>(&db).await;
        assert_refused::<WithLanes<{ u16::MAX }>>(&db).await;
        WithLanes::<1>::up(&db.conn, None).await.unwrap();
        assert_eq!(db.rows("outbox_lanes").await, 1);
    }
}

each_empty_database! {
    async fn the_lanes_asked_for_are_numbered_from_zero_and_written_down(db: TestDb) {
        async fn assert_lanes<M: MigratorTrait>(db: &TestDb, lanes: i64) {
            M::up(&db.conn, None).await.unwrap();
            assert_eq!(db.count("SELECT CAST(lanes AS bigint) FROM outbox_meta").await, lanes);
            assert_eq!(db.rows("outbox_lanes").await, lanes);
            assert_eq!(db.count("SELECT CAST(min(lane) AS bigint) FROM outbox_lanes").await, 0);
            assert_eq!(db.count("SELECT CAST(max(lane) AS bigint) FROM outbox_lanes").await, lanes - 1);
            M::down(&db.conn, None).await.unwrap();
        }
        assert_lanes::<WithLanes<1>>(&db, 1).await;
        assert_lanes::<WithLanes<16>>(&db, 16).await;
        assert_lanes::<WithLanes<1024>>(&db, 1024).await;
        WithLanes::<7>::up(&db.conn, None).await.unwrap();
        models::create_tables(&db).await;
        for id in 0..50 {
            Tally::open(id, 0).save(&db.conn).await.unwrap();
        }
        for event in db.log().await {
            let lane = outbox_runtime::lane_of("tally", &event.aggregate_id, 7).map(i32::from);
            assert_eq!(event.lane, lane);
        }
    }
}

/// O9: what is stored means the same after dump and restore into a cluster whose transaction ids start anew.
#[tokio::test]
async fn o9_nothing_stored_is_a_transaction_id_or_a_snapshot() {
    let db = TestDb::new(Kind::Postgres).await;
    let types = db
        .texts(
            "SELECT DISTINCT CAST(udt_name AS text) FROM information_schema.columns WHERE table_schema = 'public' \
             AND (table_name LIKE 'outbox%' OR table_name LIKE 'consumer%' OR table_name = 'processed_events') ORDER BY 1",
        )
        .await;
    assert!(types.contains(&"uuid".into()));
    let plain = ["bool", "int2", "int4", "int8", "jsonb", "text", "timestamptz", "uuid"];
    assert!(types.iter().all(|found| plain.contains(&found.as_str())), "{types:?}");
    let defaults = db
        .count("SELECT count(*) FROM information_schema.columns WHERE table_schema = 'public' AND column_default LIKE '%txid%' \
            OR table_schema = 'public' AND column_default LIKE '%xact_id%' OR table_schema = 'public' AND column_default LIKE '%snapshot%'")
        .await;
    assert_eq!(defaults, 0);
}
