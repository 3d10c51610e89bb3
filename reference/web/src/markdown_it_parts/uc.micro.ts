// In place of the package `uc.micro`: the browser knows the classes of Unicode.
export const P = /\p{P}/u;
export const S = /\p{S}/u;
