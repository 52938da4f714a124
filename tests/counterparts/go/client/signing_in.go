package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Nobody listens there: the browser stops where it is sent back to the application.
const redirectURL = "http://127.0.0.1/callback"

// signingIn is what the SDK asks of an application whose users sign in; nil where the client is given its token, or none.
func signingIn() (auth.OAuthHandler, error) {
	if !*signsIn {
		return nil, nil
	}
	return auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{
				RedirectURIs:            []string{redirectURL},
				ClientName:              "counterpart",
				TokenEndpointAuthMethod: "none",
			},
		},
		AuthorizationCodeFetcher: browse,
	})
}

// browse opens an authorization server's page, which needs nobody to type, and tells what it was sent back with.
func browse(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, args.URL, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	location, err := answer.Location()
	if err != nil {
		return nil, errors.New("nobody is sent back from there")
	}
	said := location.Query()
	return &auth.AuthorizationResult{Code: said.Get("code"), State: said.Get("state"), Iss: said.Get("iss")}, nil
}
