-- A run store as cofire wrote it before there were migrations.
BEGIN TRANSACTION;
CREATE TABLE curves (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    name TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (run, name)
) WITHOUT ROWID;
INSERT INTO "curves" VALUES(1,'loss',X'0000C03F0000003F0000803E0000003E');
INSERT INTO "curves" VALUES(1,'test_score',X'0000803E0000003F0000403F0000203F');
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
    data TEXT NOT NULL, method TEXT NOT NULL, hidden INTEGER NOT NULL, epsilon REAL,
    seed INTEGER NOT NULL, profile TEXT NOT NULL, epochs INTEGER NOT NULL,
    split INTEGER, options TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'waiting'
        CHECK (status IN ('waiting', 'running', 'done', 'failed')),
    owner TEXT, alive REAL, finished TEXT,
    score REAL, validation_score REAL, best_epoch INTEGER,
    connections INTEGER, density REAL, seconds REAL,
    cofire TEXT, machine TEXT, receipt TEXT, notes TEXT, error TEXT
);
INSERT INTO "runs" VALUES(1,'["madelon","set",100,1.0,0,"masked",4,null,"{}"]','madelon','set',100,1.0,0,'masked',4,NULL,'{}','done',NULL,1000.0,'2026-11-16 12:00:00',0.75,0.25,2,1102,0.0156980056980057,0.85,'0.1.0','{"cores":2,"threads":1}','{"connections":1102}','{"rows_an_epoch":1800,"sizes":[500,100,2]}',NULL);
INSERT INTO "runs" VALUES(2,'["madelon","set",100,1.0,1,"masked",4,null,"{}"]','madelon','set',100,1.0,1,'masked',4,NULL,'{}','failed',NULL,1000.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'OSError: gone.');
INSERT INTO "runs" VALUES(3,'["madelon","set",100,1.0,2,"masked",4,null,"{}"]','madelon','set',100,1.0,2,'masked',4,NULL,'{}','waiting',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "runs" VALUES(4,'["madelon","set",100,1.0,3,"masked",4,null,"{}"]','madelon','set',100,1.0,3,'masked',4,NULL,'{}','running','gone:1',1000.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE INDEX runs_by_status ON runs (status);
COMMIT;
PRAGMA application_id = 1668245097;
PRAGMA user_version = 1;
