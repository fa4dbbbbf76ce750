from wizloop.cli import main

main()
