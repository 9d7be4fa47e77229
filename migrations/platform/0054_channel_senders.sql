-- Whoever speaks to an agent for the first time has no smith until the turn begins. docs/decisions/0021-channels.md
alter table channel_chats alter column smith_id drop not null;
