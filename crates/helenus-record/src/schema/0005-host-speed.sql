-- Version 5: how fast the generator's machine worked before and after a run. Later versions neither write nor read it.

ALTER TABLE run ADD COLUMN host_speed TEXT CHECK (json_valid(host_speed)); -- NULL: nobody looked
