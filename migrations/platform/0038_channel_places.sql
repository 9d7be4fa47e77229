-- Whether there is a conversation in a thread: most of what is written in channels is in none.
create index channel_chats_by_place on channel_chats (project_id, account_id, chat);
