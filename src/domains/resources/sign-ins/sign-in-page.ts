import { linkPage } from '../link-page.ts';

export const showSignInPage = linkPage({
  title: 'Sign in',
  heading: 'Sign in to the domain service',
  text: 'The button shows a new token of your workspace, once. Copy it, and keep it as you keep a password.',
  button: 'Show the token',
  path: 'sign-ins/complete',
  shown: 'body.token.token',
});
