-- Recall finds nothing that was deleted from conversations. docs/decisions/0008-conversations.md

-- How often something was taken out of the thread's messages: passages of what was read before are not stored.
alter table threads add column removals int not null default 0;

-- Of conversations that were deleted, whether or not their rows are still there.
delete from recall_passages p
where p.thread_id ~ '^cnv_[0-7][0-9a-hjkmnp-tv-z]{25}$' and not exists (
  select from conversations c
  where c.project_id = p.project_id and c.smith_id = p.smith_id and c.id = p.thread_id and c.deleted_at is null
);

-- Of turns from which an item was deleted: recall makes them again of what is left.
with removed as (
  delete from recall_passages p
  where exists (
    select from messages m
    where m.project_id = p.project_id and m.smith_id = p.smith_id and m.thread_id = p.thread_id and m.turn = p.turn
      and m.removed is not null
  )
  returning p.project_id, p.smith_id, p.thread_id, p.turn
)
update threads t set recalled_turn = least(t.recalled_turn, r.turn - 1)
from (select project_id, smith_id, thread_id, min(turn) as turn from removed group by 1, 2, 3) r
where t.project_id = r.project_id and t.smith_id = r.smith_id and t.id = r.thread_id;

-- Of copies: what was said before the first run of a thread that is no conversation was said in another thread, and is
-- recalled there.
with copies as (
  select r.project_id, r.smith_id, r.thread_id, min(r.turn) as turn from runs r
  where r.thread_id !~ '^cnv_[0-7][0-9a-hjkmnp-tv-z]{25}$'
  group by 1, 2, 3 having min(r.turn) > 1
), removed as (
  delete from recall_passages p using copies c
  where p.project_id = c.project_id and p.smith_id = c.smith_id and p.thread_id = c.thread_id and p.turn < c.turn
)
update threads t set recalled_turn = greatest(t.recalled_turn, c.turn - 1)
from copies c
where t.project_id = c.project_id and t.smith_id = c.smith_id and t.id = c.thread_id;
