BEGIN TRANSACTION;
CREATE TABLE actions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    time REAL NOT NULL,
    changed REAL NOT NULL,
    state TEXT NOT NULL,
    former TEXT NOT NULL,   -- its state when nothing of the current step is on disk
    wanted TEXT NOT NULL,   -- its state when the current step succeeded
    owner TEXT NOT NULL,
    note TEXT NOT NULL DEFAULT '""',
    redo INTEGER NOT NULL DEFAULT 0,   -- order of undoing; 0 = cannot be redone
    parts TEXT NOT NULL
);
INSERT INTO "actions" VALUES(1,'"create"',1.795473299960005045e+09,1.79547329997014784813e+09,'done','void','done','bb0e148f41bd4e41','""',0,'[{"store":"/invented/memory","edits":[{"edit":"TextEdit","before":null,"by_lines":false,"after":"# Notes\nthe boat is blue\n","path":"/invented/memory/notes #1.md"},{"edit":"TextEdit","before":null,"by_lines":false,"after":"[\n  {\"id\": \"a\", \"content\": \"one\"}\n]\n","path":"/invented/memory/items.json"}]}]');
INSERT INTO "actions" VALUES(2,'"edit note"',1.79547329997022461888e+09,1.79547329998090243342e+09,'done','void','done','bb0e148f41bd4e41','""',0,'[{"store":"/invented/memory","edits":[{"edit":"TextEdit","before":"# Notes\nthe boat is blue\n","by_lines":false,"after":"# Notes\nthe boat is red\n","path":"/invented/memory/notes #1.md"}]}]');
INSERT INTO "actions" VALUES(3,'"edit fact"',1.79547329998117852212e+09,1.79547329998862719531e+09,'done','void','done','bb0e148f41bd4e41','""',0,'[{"store":"/invented/memory","edits":[{"edit":"RecordEdit","array":[],"before":"{\"id\": \"a\", \"content\": \"one\"}","path":"/invented/memory/items.json","id_key":"id","id":"a","index":null,"after":"{\"id\": \"a\", \"content\": \"two\"}"},{"edit":"RecordEdit","array":[],"before":null,"path":"/invented/memory/items.json","id_key":"id","id":"b","index":null,"after":"{\"id\": \"b\", \"content\": \"new \\u2028 \\\"q\\\" \\ud83d\"}"}]}]');
INSERT INTO "actions" VALUES(4,'"value"',1.79547329998868942266e+09,1.79547329998912382127e+09,'done','void','done','bb0e148f41bd4e41','""',0,'[{"store":"/invented/memory","edits":[{"edit":"TextEdit","before":null,"by_lines":false,"after":"{\"n\": 1}","path":"/invented/memory/top.json"}]}]');
INSERT INTO "actions" VALUES(5,'"value2"',1.79547329998930740358e+09,1.79547329999909353252e+09,'done','void','done','bb0e148f41bd4e41','""',0,'[{"store":"/invented/memory","edits":[{"edit":"ValueEdit","before":"1","path":"/invented/memory/top.json","pointer":["n"],"index":null,"book_keeping":false,"after":"2"}]}]');
INSERT INTO "actions" VALUES(6,'"sidecar"',1795473299.99931,1795473299.99999,'done','void','done','bb0e148f41bd4e41','""',0,'[{"store":"/invented/memory","edits":[{"edit":"SidecarEdit","before":null,"root":"/invented/memory","id":"a","after":{"pinned":true,"tags":["boat"]}}]}]');
INSERT INTO "actions" VALUES(7,'"to be undone"',1.79547330000003576276e+09,1.7954733000084207058e+09,'undone','done','undone','bb0e148f41bd4e41','""',1,'[{"store":"/invented/memory","edits":[{"edit":"TextEdit","before":"# Notes\nthe boat is red\n","by_lines":false,"after":"# Notes\nthe boat is green\n","path":"/invented/memory/notes #1.md"}]}]');
INSERT INTO "actions" VALUES(8,'"refused"',1.79547330000855422018e+09,1.79547330000913071628e+09,'void','void','done','bb0e148f41bd4e41','""',0,'[{"store":"/invented/memory","edits":[{"edit":"TextEdit","before":"other","by_lines":false,"after":"x","path":"/invented/memory/notes #1.md"}]}]');
INSERT INTO "actions" VALUES(9,'"cut short"',1.79547330000924706462e+09,1.79547330000924730301e+09,'intent','void','done','bb0e148f41bd4e41','""',0,'[{"store":"/invented/memory","edits":[{"edit":"TextEdit","before":"# Notes\nthe boat is red\n","by_lines":false,"after":"# Notes\nthe boat is teal\n","path":"/invented/memory/notes #1.md"},{"edit":"TextEdit","before":null,"by_lines":false,"after":"second\n","path":"/invented/memory/second.md"}]}]');
CREATE TABLE folders (   -- were missing when the action began
    action INTEGER NOT NULL,
    path TEXT NOT NULL
);
INSERT INTO "folders" VALUES(6,'"/invented/memory/.memtui"');
CREATE TABLE writes (
    action INTEGER NOT NULL,
    path TEXT NOT NULL,
    pre TEXT NOT NULL,
    post TEXT NOT NULL,
    done INTEGER NOT NULL DEFAULT 0
);
INSERT INTO "writes" VALUES(1,'"/invented/memory/notes #1.md"','','956e2a3a0558d790396aa8129947b092bf113d51f5645f33c9f912bad0b06588',1);
INSERT INTO "writes" VALUES(1,'"/invented/memory/items.json"','','de46d519b5d4849bb6fa63a607692bcddf4d0daa997de6a30e51128e3ec73a34',1);
INSERT INTO "writes" VALUES(2,'"/invented/memory/notes #1.md"','956e2a3a0558d790396aa8129947b092bf113d51f5645f33c9f912bad0b06588','9b93132b798493f10b18fcd1e413d2f162e87d56fc79253e70ce808fec3e6351',1);
INSERT INTO "writes" VALUES(3,'"/invented/memory/items.json"','de46d519b5d4849bb6fa63a607692bcddf4d0daa997de6a30e51128e3ec73a34','7c35a86b47de7e31c5a86b21143427350b4dec3b7d31a0213819ee3f46ef461d',1);
INSERT INTO "writes" VALUES(4,'"/invented/memory/top.json"','','e5d5f7c1d225fd6b13623ebb1b5b9d075c705659f81868b1e37005a0923b0346',1);
INSERT INTO "writes" VALUES(5,'"/invented/memory/top.json"','e5d5f7c1d225fd6b13623ebb1b5b9d075c705659f81868b1e37005a0923b0346','fcb7ecf22a686fde527cafa2dd308d1c321ff6d1baddedf24668afbba85a7d64',1);
INSERT INTO "writes" VALUES(6,'"/invented/memory/.memtui/sidecar.jsonl"','','0b6a606e244279513b16d9a971f9c44f413eb6bdb2a488496f12fe44081669a5',1);
INSERT INTO "writes" VALUES(7,'"/invented/memory/notes #1.md"','e4755077e3f51ab2a99d982979d3bb325ec4787056d016639fc8268e877376fb','9b93132b798493f10b18fcd1e413d2f162e87d56fc79253e70ce808fec3e6351',1);
INSERT INTO "writes" VALUES(9,'"/invented/memory/notes #1.md"','9b93132b798493f10b18fcd1e413d2f162e87d56fc79253e70ce808fec3e6351','74d212ecd841e30ad8deaa3cba1b186bf4459ce3fc954e8f9a6c3700a3e27d55',1);
CREATE INDEX writes_by_file ON writes(action, path);
CREATE INDEX actions_by_state ON actions(state, id);
COMMIT;
PRAGMA user_version = 1;
