-- Pieces of answers that are shown while their turns go on. docs/decisions/0021-channels.md

-- The provider's message that holds pieces: {message, is_unsure}, the latter where a call of unknown outcome may still change
-- it. What the answer becomes next takes it over.
alter table channel_answers add column live jsonb;
-- The message whose place the part takes.
alter table channel_parts add column live jsonb;
