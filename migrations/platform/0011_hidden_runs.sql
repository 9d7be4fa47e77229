-- Since when a run's responses can no longer be retrieved: started with `store: false`, or deleted since.
alter table runs rename column forgotten_at to hidden_at;
