/** What must hold of codes and tokens: each names what is wrong, and finds what is. */
export const SPENT_ONCE: Readonly<Record<string, string>> = {
  'a code is spent and has no token': `select id as run_id from oauth_requests where status = 'redeemed' and token_id is null`,
  'a token is of two codes': `select token_id as run_id from oauth_requests where token_id is not null group by token_id having count(*) > 1`,
  'a token of a client has no code': `
    select t.id as run_id from tokens t
    where t.client_id is not null and not exists (select from oauth_requests r where r.token_id = t.id)`,
  'token.created is not there once': `
    select t.id as run_id from tokens t left join events e
      on e.project_id = t.project_id and e.type = 'token.created' and e.data ->> 'token_id' = t.id
    where t.client_id is not null group by t.id having count(e.id) <> 1`,
  'a use of a refresh token has not one successor': `
    select token_id as run_id from oauth_refresh_tokens group by project_id, token_id having count(*) <> 1 + sum(uses)`,
  'a refresh is under way that nobody makes': `select id as run_id from connections where refresh_until is not null`,
};
